# What git runs after a commit: <python> -I -S githook.py, from a line in its post-commit hook. It says that
# there was one, in the spool, and nothing else: what the commit is git is asked later, by whoever comes for
# it. It never fails, prints nothing, and no text of the repository goes through it.
import gc
import posix
import sys

gc.disable()
try:
    package = __file__[: -len("/githook.py")]
    sys.path.insert(0, sys.path.pop())  # lib-dynload, where _json is, before the large directory
    sys.path.append(package[: -len("/holdfast")])
    from holdfast.disk import spool, worktree
    from holdfast.disk.home import Home, locate

    environ = {
        name.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
        for name, value in posix.environ.items()
    }
    tree, is_one_of_many = worktree.of_hook(environ, posix.getcwd())
    if tree:
        home = Home(locate(environ)[0])
        spool.put(home, spool.SERIES if is_one_of_many else spool.COMMIT, spool.about(tree, environ))
finally:
    posix._exit(0)
