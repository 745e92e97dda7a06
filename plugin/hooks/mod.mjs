// The mod: the part of the plugin that runs inside the client (2.1.287 and newer; older ones pass it over).
//
// It hands holdfast what only the client knows, the size of the window and what is in it, when a session
// starts and after every turn; and starts a compaction when holdfast says so. One process each time, which
// is given two seconds; nothing is shown, nothing is sent to the model, and whatever fails is left at that:
// the hooks do without it.

const RUN_MS = 2000;

async function report($, context) {
  const [id, model, surfaces] = await Promise.all([$.session.id(), $.session.model(), $.session.surfaces()]);
  const measured = {
    session_id: id,
    model: { id: model },
    interactive: surfaces.includes("terminal"), // elsewhere the client does not compact between turns
    context_window: {
      context_window_size: context.window,
      current_usage: context.tokens === undefined ? null : { input_tokens: context.tokens },
    },
  };
  const { stdout } = await $.process.run([`${$.plugin.root}/run`, "measured"], {
    stdin: JSON.stringify(measured),
    timeoutMs: RUN_MS,
  });
  return stdout === "" ? {} : JSON.parse(stdout);
}

async function start($) {
  try {
    const { context } = await $.session.usage();
    await report($, context);
  } catch {}
}

async function measure($, e) {
  try {
    if (!e.changed.includes("context")) return; // a rate limit alone
    const { compact } = await report($, e.context);
    if (compact === true) await $.session.compact();
  } catch {}
}

export function register(on) {
  on("session.start", ($, e, next) => {
    void start($); // nobody waits for it
    return next(e);
  });
  on("session.measure", async ($, e, next) => {
    const measured = await next(e);
    await measure($, e);
    return measured;
  });
}
