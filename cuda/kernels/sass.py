"""Reads machine code: its basic blocks, its loops, and how often each block was executed.

How often a GPU executes a block nobody can see here, but the stand-in driver says how many
warps executed each line of the PTX (HOGWILD_FAKE_PROFILE), and ptxas says from which line
of the PTX each machine instruction came (-lineinfo). A block's executions are then those
of its anchors: memory accesses, barriers, shuffles, branches, which ptxas copies (when it
unrolls a loop) but neither merges nor moves out of loops. Anchors that were copied share
their line's executions out among the copies, so that the sum is right whatever the split.
"""

import re
import statistics
from collections import Counter, namedtuple
from dataclasses import dataclass, field

Instruction = namedtuple("Instruction", "address guarded op target line cases")  # cases: targets of a switch

ANCHORS = {"LDG", "STG", "REDG", "RED", "ATOMG", "ATOM", "LDS", "STS", "ATOMS", "BAR", "SHFL", "VOTE", "MUFU", "I2F", "I2FP", "BRA", "WARPSYNC", "MATCH"}


@dataclass
class Block:
    instructions: list
    executed: float = 0.0  # by warps
    anchors: Counter = field(default_factory=Counter)  # (line, op): copies
    apart: bool = False  # only a warp whose lanes have parted comes here


@dataclass
class Loop:
    first: int  # addresses of the first and the last instruction
    last: int
    blocks: list
    depth: int = 0  # loops inside

    def slots(self):
        return sum(b.executed * len(b.instructions) for b in self.blocks)

    def turns(self):
        return max(self.blocks[0].executed, self.blocks[-1].executed)  # ptxas may enter a loop in its middle

    def share(self, op):
        """Of the instructions executed, those of an operation."""
        all_of = self.slots()
        return sum(b.executed * sum(i.op.split(".")[0] == op for i in b.instructions) for b in self.blocks) / all_of if all_of else 0.0


LINE = re.compile(r'//## File "[^"]*", line (\d+)')
LABEL = re.compile(r"^(\.L_x_\d+):")
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,6})\*/\s+(@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]+)([^;]*);")


def functions(text):
    """{kernel: [Instruction]} of what nvdisasm -gp -c prints; targets are addresses."""
    found, code, labels, pending, line = {}, None, {}, [], 0
    for row in text.splitlines():
        if row.startswith(".text."):
            code, labels, pending, line = found.setdefault(row[6:].rstrip(":"), []), {}, [], 0
            code_labels = labels
            found[row[6:].rstrip(":")] = (code, code_labels)
        elif (m := LINE.search(row)) and code is not None:
            line = int(m[1])
        elif m := LABEL.match(row):
            pending.append(m[1])
        elif (m := INSTRUCTION.match(row)) and code is not None:
            address = int(m[1], 16)
            for label in pending:
                labels[label] = address
            pending = []
            to = re.search(r"\.L_x_\d+", m[4]) if m[3].split(".")[0] in ("BRA", "BSSY") else None
            cases = re.findall(r"\.L_x_\d+", m[4]) if m[3] == "BRX" else ()
            code.append(Instruction(address, bool(m[2]), m[3], to and to[0], line, cases))
    return {k: [i._replace(target=labels.get(i.target), cases=[labels[c] for c in i.cases]) for i in code] for k, (code, labels) in found.items()}


def blocks(code):
    """Basic blocks: an instruction that a branch leads to begins one, a branch ends one."""
    leads = {i.target for i in code if i.target is not None and i.op.startswith("BRA")} | {c for i in code for c in i.cases}
    found = []
    for i in code:
        if i.target == i.address:  # behind the end
            break
        if not found or i.address in leads or found[-1].instructions[-1].op.split(".")[0] in ("BRA", "EXIT", "RET", "BRX", "BREAK"):
            found.append(Block([]))
        found[-1].instructions.append(i)
    for b in found:
        strong = [i for i in b.instructions if i.op.split(".")[0] in ANCHORS and (not i.guarded or i.op.startswith("BRA"))]
        # A BRA that always jumps may be ptxas's own, of another block's line.
        strong = [i for i in strong if i.guarded or not i.op.startswith("BRA")] or [i for i in b.instructions if not i.guarded] or b.instructions
        b.anchors = Counter((i.line, i.op.split(".")[0]) for i in strong)
    together = reached(found, [found[0].instructions[0].address])
    parted = reached(found, [i.target for b in found for i in b.instructions if i.op == "BRA.DIV"])
    for b in found:
        b.apart = b.instructions[0].address in parted - together
    return found


def reached(found, ahead):
    """The addresses of the blocks that warps whose lanes are together come to from some. Where
    ptxas does not see that they are, it puts a test (BRA.DIV) before a shuffle or a vote, and a
    second one at the kernel's end, many instructions long, which is not executed."""
    blocks = {b.instructions[0].address: b.instructions for b in found}
    behind = dict(zip(blocks, list(blocks)[1:]))
    seen = set()
    while ahead:
        at = ahead.pop()
        if at is None or at in seen or at not in blocks:
            continue
        seen.add(at)
        last = blocks[at][-1]
        if last.guarded or last.op.split(".")[0] not in ("BRA", "EXIT", "RET", "BRX") or last.op == "BRA.DIV":
            ahead.append(behind.get(at))
        for i in blocks[at]:
            ahead += [*i.cases, i.target if i.op != "BRA.DIV" else None]
    return seen


def execute(found, times):
    """Sets each block's executions from those of the PTX's lines."""
    found = [b for b in found if not b.apart]
    for b in found:
        b.executed = statistics.median(times.get(line, 0) for line, _ in b.anchors.elements())
    for _ in range(20):
        sums = Counter()
        for b in found:
            for anchor, copies in b.anchors.items():
                sums[anchor] += copies * b.executed
        for b in found:
            ratios = [times.get(a[0], 0) / sums[a] for a in b.anchors.elements() if sums[a] > 0]
            b.executed *= statistics.median(ratios) if ratios else 0


def loops(found):
    """Loops by backward branches, those with the same head being one, inner ones first."""
    by_head = {}
    for b in found:
        last = b.instructions[-1]
        if last.op.startswith("BRA") and last.target is not None and last.target <= last.address:
            by_head[last.target] = max(by_head.get(last.target, 0), last.address)
    found_loops = [Loop(first, last, [b for b in found if first <= b.instructions[0].address <= last]) for first, last in by_head.items()]
    for a in found_loops:
        a.depth = sum(b is not a and a.first <= b.first and b.last <= a.last for b in found_loops)
    return sorted(found_loops, key=lambda l: (l.depth, l.first))
