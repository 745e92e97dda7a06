// The theme, before anything is drawn; times in the reader's zone, and how long ago, without asking again.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const chosen = () => { try { return localStorage.getItem("holdfast-theme") || "system"; } catch { return "system"; } };
  const apply = () => {
    const theme = chosen();
    root.classList.toggle("dark", theme === "dark" || (theme === "system" && system.matches));
    root.dataset.theme = theme;
    for (const one of document.querySelectorAll("[data-set]")) one.setAttribute("aria-pressed", one.dataset.set === theme);
  };
  system.addEventListener("change", apply);
  apply();
  document.addEventListener("click", (event) => {
    const set = event.target.closest?.("[data-set]");
    if (!set) return;
    try { localStorage.setItem("holdfast-theme", set.dataset.set); } catch { /* kept for this page only */ }
    apply();
  });

  const two = (number) => String(number).padStart(2, "0");
  const ago = (at) => {
    const seconds = Math.max(0, (Date.now() - at) / 1000);
    for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"]])
      if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
    return seconds < 10 ? "now" : `${Math.floor(seconds / 10) * 10} s ago`;
  };
  const tell = () => {
    for (const one of document.querySelectorAll("time[datetime]")) {
      const at = new Date(one.dateTime);
      if (isNaN(at)) continue;
      const local = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
      const said = one.dataset.ago === undefined ? local : ago(at);
      if (one.textContent !== said) one.textContent = said;
      one.title = local;
    }
  };
  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; tell(); });
  };
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    new MutationObserver(() => { soon(); }).observe(document.body, { childList: true, subtree: true });
    setInterval(tell, 5000);
    setTimeout(apply, 0);
  });
  window.addEventListener("load", () => { apply(); soon(); });
})();
