"""Who may see and write which rows of a team's PostgreSQL, as statements of a migration.

The engine decides, not we: whatever a member asks, by whatever program, goes through these. A row belongs
to a project; it is there for the roles that `members` names for that project, or for `*`, which is all of
them. A row of no project ('') is its writer's alone. Nobody writes in another's name. Who owns the tables
is not limited.

No function is involved, so there is none whose names could be made to mean something else: a policy is
bound to its tables and operators when it is made. What a role may see is looked up once a statement, not
once a row. Everybody is granted the tables, because that alone shows nobody anything: a role that
`members` does not name sees no row, and writes none.

These are part of steps that were released: they are never changed, only followed by others.
"""

from __future__ import annotations

#: The role that asks, and its projects.
ME = "CAST(current_user AS TEXT)"
MINE = f"ARRAY(SELECT m.project FROM members m WHERE m.who = {ME})"  # noqa: S608
#: Whether a row with `project` and `who` is there for the role that asks.
SEEN = (
    f"CASE WHEN project = '' THEN who = {ME} AND cardinality({MINE}) > 0 "
    f"ELSE ARRAY[project, '*'] && {MINE} END"
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
