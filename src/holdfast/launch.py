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
        fd = posix.open(package + "/__pycache__/hot." + sys.implementation.cache_tag, posix.O_RDONLY)
        data = memoryview(posix.read(fd, 1 << 20))
        posix.close(fd)
        if source_hash(2, data[8:]) != data[:8]:
            raise OSError
        modules = marshal.loads(data[8:])
        bundle = {"__file__": package + "/bundle.py"}
        exec(modules[1][-1], bundle)  # its own code
        bundle["run"](modules)
    except OSError:
        from holdfast import bundling

        bundling.build(package)
    from holdfast import hook

    hook.main()
finally:
    posix._exit(0)  # also when the installation itself is broken: `status` will say so
