"""Who may see and write which rows of a team's PostgreSQL, as statements of a migration.

The engine decides, not we: whatever a member asks, by whatever program, goes through these. A row belongs
to a project; it is there for the roles that `members` names for that project, or for `*`, which is all of
them. A row of no project ('') is its writer's alone. Nobody writes in another's name. Who owns the tables
is not limited.

A policy is bound to its tables and operators when it is made: no name in it can be made to mean something
else. What a role may see is looked up once a statement, not once a row. Everybody is granted the tables,
because that alone shows nobody anything: a role that `members` does not name sees no row, and writes none.

Before a policy was asked, the engine compares a row with nothing that might tell of it by other means, and
so uses no index but one for equality: to find words a member would have every row of the team looked at.
Therefore two functions (`functions`) look with the owner's rights, and ask the same of each row they find.
They are bound to names as policies are, and no EXPLAIN shows their plan. But how many rows were fetched the
server counts for everybody to read: so the index is asked for the caller's projects as well as the words,
and no other row is fetched to be thrown away. What is left to measure is time, and how much of the index
was read. Whom no policy limits asks the table itself.

These are part of steps that were released: they are never changed, only followed by others.
"""

from __future__ import annotations

#: The role that asks, and its projects.
ME = "CAST(current_user AS TEXT)"
NAMED = f"SELECT m.project FROM members m WHERE m.who = {ME}"  # noqa: S608
MINE = f"ARRAY({NAMED})"
#: Whether a row with `project` and `who` is there for the role that asks. They are looked up in a table of
#: hashes, however many they are.
SEEN = (
    f"CASE WHEN project = '' THEN who = {ME} AND cardinality({MINE}) > 0 "
    f"ELSE project IN ({NAMED}) OR '*' IN ({NAMED}) END"
)
OWN = f"who = {ME} AND ({SEEN})"


def protect(table: str, *writes: str, changes: str = OWN, removes: str = OWN, added: str = "true") -> str:
    """For a table with `project` and `who`: which of INSERT, UPDATE and DELETE members may do. They add in
    their own name only, and where `added` holds, too; what they may change and take away beyond their own,
    `changes` and `removes` say. UPDATE may name the columns: UPDATE (state, holder)."""
    rules = [_rule(table, "SELECT", f"USING ({SEEN})")]
    for write in writes:
        what = write.partition(" ")[0]
        limits = {
            "INSERT": f"WITH CHECK ({OWN} AND {added})",
            "UPDATE": f"USING ({changes}) WITH CHECK ({changes})",
            "DELETE": f"USING ({removes})",
        }
        rules.append(_rule(table, what, limits[what]))
    return ";\n".join([_shut(table), *rules, _granted(table, "SELECT", *writes)])


def protect_through(table: str, seen: str, *writes: str, added: str = "") -> str:
    """For a table whose rows are there for whom `seen` says, and are added where `added` holds, too."""
    rules = [_rule(table, "SELECT", f"USING ({seen})")]
    limits = {"INSERT": f"WITH CHECK ({added or seen})", "DELETE": f"USING ({seen})"}
    rules += [_rule(table, write, limits[write]) for write in writes]
    return ";\n".join([_shut(table), *rules, _granted(table, "SELECT", *writes)])


def shut(table: str) -> str:
    """For its owner only."""
    return f"{_shut(table)};\nREVOKE ALL ON {table} FROM PUBLIC"


def _shut(table: str) -> str:
    return f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"


def _rule(table: str, what: str, limit: str) -> str:
    return f"CREATE POLICY members_{what.lower()} ON {table} FOR {what} TO PUBLIC {limit}"


def _granted(table: str, *what: str) -> str:
    return f"GRANT {', '.join(what)} ON {table} TO PUBLIC"
