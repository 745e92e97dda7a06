# The file hooks run: <python> -I -S launch.py. `-I -S` keeps the project the agent works in, and
# every package of the user's, off sys.path: nothing of theirs can be imported by mistake.
# It has no .pyc (the main script never does) and is compiled on every start, where a statement costs
# as much as a small module: it only finds the loader, in the file that holds it and all it loads.
import posix
import sys
from _imp import source_hash
from marshal import loads

try:
    try:
        fd = posix.open(f"{__file__[:-9]}__pycache__/hot.{sys.implementation.cache_tag}", 0)
        data = memoryview(posix.read(fd, 1 << 20))
        if source_hash(3, data[8:]) != data[:8]:
            raise OSError
        bundle = {"__file__": __file__}
        exec(loads(data[12:]), bundle)  # what follows the loader is no part of it
        bundle["begin"](data, fd)
    except OSError:
        sys.path.append(__file__[: -len("/holdfast/launch.py")])
        from holdfast import bundling

        bundling.begin()
    if sys.argv[1:2] == ["mcp"]:  # no hook: a server, which stays
        from holdfast.mcp import stdio as hook
    else:
        from holdfast import hook
    hook.main()
finally:
    posix._exit(0)  # also when the installation itself is broken: `status` will say so
