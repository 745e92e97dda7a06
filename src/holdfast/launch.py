# The file hooks run: <python> -I -S launch.py. `-I -S` keeps the project the agent works in, and
# every package of the user's, off sys.path: nothing of theirs can be imported by mistake.
# It has no .pyc (the main script never does) and is compiled on every start, so it stays this short.
# What it loads, and why in this way: bundle.py.
import gc
import marshal
import posix
import sys
from _imp import source_hash

gc.disable()  # nothing that is loaded, nor anything a hook makes, is worth being looked through
try:
    package = __file__[: -len("/launch.py")]
    sys.path.insert(0, sys.path.pop())  # lib-dynload, where _json is, before the large directory
    sys.path.append(package[: -len("/holdfast")])
    if sys.argv[1:2] == ["mcp"]:  # no hook: a server, which stays
        from holdfast.mcp import stdio

        stdio.main()
    try:
        fd = posix.open(f"{package}/__pycache__/hot.{sys.implementation.cache_tag}", posix.O_RDONLY)
        data = posix.read(fd, 1 << 20)
        posix.close(fd)
        if source_hash(0, data[8:]) != data[:8]:
            raise OSError
        modules = marshal.loads(memoryview(data)[8:])
        for _, stem, changed, size, _ in modules:
            now = posix.stat(f"{package}/{stem}.py")
            if now.st_mtime_ns != changed or now.st_size != size:
                raise OSError
    except OSError:
        from holdfast import bundle

        bundle.build(package)
        modules = ()
    for name, stem, _, _, code in modules:
        module = sys.modules[name] = type(sys)(name)
        module.__file__ = f"{package}/{stem}.py"
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
        if stem.endswith("__init__"):
            module.__path__ = [module.__file__[: -len("/__init__.py")]]
        exec(code, module.__dict__)
    from holdfast import hook

    hook.main()
finally:
    posix._exit(0)  # also when the installation itself is broken: `status` will say so
