"""Becomes the worker that the words on stdin ask for: told.py FOLDER TASK SESSION."""

import os
import sys

folder, task, session = sys.argv[1:]
seconds, *more = sys.stdin.read().split("\n")[0].split(" ", 2)
if more[:1] == ["transcript"]:
    # A client's own account of what it did: so many tokens more than at its first answer.
    place = f"{os.environ['CLAUDE_CONFIG_DIR']}/projects/p"
    os.makedirs(place, exist_ok=True)
    usage = '"usage":{{"input_tokens":{},"output_tokens":1}}'
    prompt = (
        '{"type":"user","uuid":"u","sessionId":"%s","cwd":"%s","message":{"role":"user","content":"go"}}\n'
    )
    said = '"message":{{"id":"{0}","model":"m","content":[],{2}}}'
    answer = '{{"type":"assistant","uuid":"{0}","sessionId":"{1}",' + said + "}}\n"
    with open(f"{place}/{session}.jsonl", "w") as file:
        file.write(prompt % (session, folder))
        for name, used in (("a", 20_000), ("b", 20_000 + int(more[1]))):
            file.write(answer.format(name, session, usage.format(used)))
    more = []
worker = os.path.join(os.path.dirname(__file__), "worker.py")
os.execv(sys.executable, [sys.executable, "-S", worker, folder, task, seconds, *more])
