# The file hooks run: <python> -I -S launch.py. `-I -S` keeps the project the agent works in, and
# every package of the user's, off sys.path: nothing of theirs can be imported by mistake.
# It has no .pyc (the main script never does) and is compiled on every start, so it stays this short.
# What it loads, and why in this way: bundle.py.
import marshal
import posix
import sys

try:
    package = __file__[: -len("/launch.py")]
    sys.path.insert(0, sys.path.pop())  # lib-dynload, where _json is, before the large directory
    sys.path.append(package[: -len("/holdfast")])
    try:
        fd = posix.open(f"{package}/__pycache__/hot.{sys.implementation.cache_tag}", posix.O_RDONLY)
        sources, modules = marshal.loads(posix.read(fd, 1 << 20))
        for path, changed, size in sources:
            now = posix.stat(path)
            if now.st_mtime_ns != changed or now.st_size != size:
                raise OSError
    except (OSError, EOFError, ValueError, TypeError):
        from holdfast import bundle

        bundle.build(package)
        modules = ()
    for name, path, code in modules:
        module = sys.modules[name] = type(sys)(name)
        module.__file__ = path
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
        if path.endswith("/__init__.py"):
            module.__path__ = [path[: -len("/__init__.py")]]
        exec(code, module.__dict__)
    from holdfast import hook

    hook.main()
finally:
    posix._exit(0)  # also when the installation itself is broken: `status` will say so
