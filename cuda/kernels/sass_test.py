#!/usr/bin/env python3
"""Tests of sass.py and of what table.py makes of it, on a kernel written by hand."""

import unittest

import check
import lines
import sass
import table

# A loop of four instructions, unrolled by two, with a rest; inside of one over tickets. Lines
# are those of the PTX; line 10 is the load, 12 the branch of the inner loop.
TEXT = """
.text.sum_step:
	//## File ".nv_debug_ptx_txt", line 3
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_3:
	//## File ".nv_debug_ptx_txt", line 5
        /*0010*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
	//## File ".nv_debug_ptx_txt", line 7
        /*0020*/              @!P1 BRA `(.L_x_1) ;
.L_x_0:
	//## File ".nv_debug_ptx_txt", line 10
        /*0030*/                   LDG.E.STRONG.SYS R2, desc[UR4][R4.64] ;
        /*0040*/                   LDG.E.STRONG.SYS R3, desc[UR4][R4.64+0x4] ;
	//## File ".nv_debug_ptx_txt", line 11
        /*0050*/                   FFMA R6, R2, R2, R6 ;
        /*0060*/                   FFMA R6, R3, R3, R6 ;
	//## File ".nv_debug_ptx_txt", line 12
        /*0070*/               @P0 BRA `(.L_x_0) ;
.L_x_1:
	//## File ".nv_debug_ptx_txt", line 14
        /*0080*/               @P2 STG.E desc[UR4][R8.64], R6 ;
	//## File ".nv_debug_ptx_txt", line 15
        /*0090*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*00a0*/                   BRA `(.L_x_3) ;
.L_x_2:
        /*00b0*/                   BRA `(.L_x_2);
        /*00c0*/                   NOP;
"""


class Sass(unittest.TestCase):
    def setUp(self):
        self.code = sass.functions(TEXT)["sum_step"]
        self.blocks = sass.blocks(self.code)

    def test_instructions(self):
        self.assertEqual(len(self.code), 13)
        self.assertEqual([i.target for i in self.code if i.op == "BRA"], [0x80, 0x30, 0x10, 0xB0])
        self.assertEqual([i.line for i in self.code[:6]], [3, 5, 7, 10, 10, 11])
        self.assertTrue(self.code[9].op == "BAR.SYNC.DEFER_BLOCKING" and self.code[8].guarded)

    def test_blocks(self):
        self.assertEqual([[i.address >> 4 for i in b.instructions] for b in self.blocks],
                         [[0], [1, 2], [3, 4, 5, 6, 7], [8, 9, 10]])

    def test_loops(self):
        self.assertEqual([(l.first, l.last, l.depth) for l in sass.loops(self.blocks)], [(0x30, 0x70, 0), (0x10, 0xA0, 1)])

    def test_executions(self):
        # 5 tickets; the loop ran 60 times in the PTX, 30 times when unrolled; the store, which
        # the machine does under a predicate, twice.
        sass.execute(self.blocks, {3: 1, 5: 5, 7: 5, 10: 60, 11: 60, 12: 30, 14: 2, 15: 5})
        self.assertEqual([b.executed for b in self.blocks], [1, 5, 30, 5])
        inner, outer = sass.loops(self.blocks)
        self.assertEqual((inner.turns(), inner.slots(), inner.share("FFMA")), (30, 150, 0.4))
        self.assertEqual(outer.slots(), 5 * 2 + 30 * 5 + 5 * 3)

    def test_never_executed(self):
        sass.execute(self.blocks, {})
        self.assertEqual(sum(b.executed for b in self.blocks), 0)


# A shuffle, its warp's lanes being together or not; the line is executed ten times.
DIVERGENT = """
.text.swap_step:
	//## File ".nv_debug_ptx_txt", line 1
        /*0000*/                   BRX R2 -0x10    (*"BRANCH_TARGETS .L_x_4,.L_x_4"*);
.L_x_4:
        /*0010*/                   BRA.DIV UR4, `(.L_x_1) ;
	//## File ".nv_debug_ptx_txt", line 2
        /*0020*/                   SHFL.BFLY PT, R3, R2, 0x1, 0x1f ;
.L_x_2:
	//## File ".nv_debug_ptx_txt", line 3
        /*0030*/                   STG.E desc[UR4][R8.64], R3 ;
        /*0040*/                   EXIT ;
.L_x_1:
	//## File ".nv_debug_ptx_txt", line 2
        /*0050*/                   IMAD.MOV.U32 R5, RZ, RZ, 0x1 ;
        /*0060*/                   WARPSYNC.COLLECTIVE R4, `(.L_x_3) ;
.L_x_3:
        /*0070*/                   SHFL.BFLY P2, R3, R2, R5, R6 ;
        /*0080*/                   BRA `(.L_x_2) ;
"""


class Divergence(unittest.TestCase):
    def test_not_executed(self):
        found = sass.blocks(sass.functions(DIVERGENT)["swap_step"])
        self.assertEqual([b.apart for b in found], [False, False, False, False, True])
        sass.execute(found, {1: 10, 2: 10, 3: 10})
        self.assertEqual([b.executed for b in found], [10, 10, 10, 10, 0])


class Lines(unittest.TestCase):
    def test_definitions(self):
        around, text = lines.definitions("dev.h"), (check.HERE / "dev.h").read_text().splitlines()
        at = next(n for n, row in enumerate(text, 1) if "mov.u32 %0, %%tid.x" in row)
        self.assertEqual(around[at], "thread")


class Table(unittest.TestCase):
    def test_occupancy(self):
        self.assertEqual(table.occupancy(128, 46512, 256), (2, "registers"))
        self.assertEqual(table.occupancy(32, 0, 256), (8, "registers"))
        self.assertEqual(table.occupancy(16, 0, 64), (32, "threads"))
        self.assertEqual(table.occupancy(40, 100 * 1024, 256), (2, "shared memory"))

    def test_spread(self):
        # Vectors a second times their sectors, as the microbenchmark counts them: 86, 42 and 8.3 M on an H200.
        for weights, vectors in ((784, 86e6), (7850, 42e6), (101770, 8.3e6)):
            self.assertAlmostEqual(table.spread(weights) / (vectors * weights / 8), 1, delta=0.02)
        rates = [table.spread(n) for n in (32, 400, 784, 785, 3000, 7850, 47000, 101770)]
        self.assertEqual(rates, sorted(set(rates)))
        self.assertAlmostEqual(table.spread(32) / (86e6 * 4), 1, delta=0.02)  # a line
        self.assertEqual(table.spread(10**7), 105e9)

    def test_numbers(self):
        self.assertEqual([table.number(v) for v in (0.123, 9.46, 84.2, 1234, 65432)], ["0.12", "9.5", "84", "1,200", "65,000"])


if __name__ == "__main__":
    unittest.main()
