"""The text of docs/results/kernels.md, which table.py fills with tables, and its numbers."""


def rounded(v, digits=2):
    """To so many digits: how many launches there are is chance, and moves the third."""
    return float(f"{v:.{digits}g}")


def number(v, digits=2):
    v = rounded(v, digits)
    return f"{v:,.0f}" if v >= 10 else f"{v:g}"


TEXT = """# The kernels, counted

See what each CUDA kernel costs in instructions, and which limit that sets on its speed; `make sass-table` counts again and writes this page. An H200's speeds are in [gpu.md](gpu.md). An instruction takes one issue slot of one of a multiprocessor's
{schedulers} schedulers each time a warp executes it. So an H200 ({sms} multiprocessors at {clock:.3f} GHz, as measured under load)
has {rate:,} G slots a second, and a kernel that needs n of them per sample trains at most {rate:,} G/n samples a second. Usually something
else binds first: latency, barriers, additions.

## What a multiprocessor has room for

{resources}

## Slots a sample

Machine instructions (ptxas {ptxas}, sm_90, as in `cuda/cubin`) times their executions by warps, in an epoch over 1,024 examples. The stand-in
driver counts them on the rows that are trained, so skipped zeros do not count. Work that a CTA does once per launch is left out,
and so is code for diverged warps where none diverged. A sector is 32 bytes of weights that a warp's addition touches. Bytes are
of all such sectors, and of the sectors of weights that are read and stored.

The limit on additions is computed from one H200: all its warps together added to vectors of 784, 7,850 and 101,770 weights at {measured} G
sectors a second. Between these sizes the rate is interpolated, by logarithms; larger models have the last. A single line took 86 M additions
of 32 floats a second (of 25 lines), 209 M of 8 (of 98) and 570 M of one (alone), so weights that each sample adds to have limits of their
own.

{slots}

Word2vec has been measured on no GPU. A word is a step of one warp, with some 6 inputs of 6 targets each. Computed, not measured: at an
estimated 0.2 to 0.3 µs a target a word takes 7 to 11 µs, so the default of 2,112 steps in flight allows 190 to 300 M words/s.

## A step of a whole CTA

A step of several dense rows or images has a CTA of 512 threads with up to 128 registers each, all of a multiprocessor: an H200 has 132 such steps in
flight. Until then it had 256 threads, and two CTAs fit. On the H200 264 of those had 1.55 to 1.6 times the rate of 132, with twice the
steps in flight. What the 512 gain no GPU has shown yet. Counted, at 256 threads before → now:

{steps}

Products in tf32 (`mlp_tensor`) with CTAs of 256 threads would take 3,500 slots a sample of 784-128-10 at batch 8, and 12 barriers a step: fewer slots than with 512,
but a warp 3,500 instructions a step in place of 2,260. On the H200 `mlp_step` used 35% of the slots with 8 warps on each multiprocessor, and 1.55 times as many with 16: by that 512 threads are faster by a fifth at 132 steps in
flight (computed), so these CTAs have 512 threads too.

With few outputs 512 threads have as many warps that prepare and wait, so softmax takes 1.3 times the slots of before; eight of the 16 warps add up
the sums over the 51 parts and compute the losses, each of a sample. Steps of linear models and perceptrons wait at fewer barriers than when they had 256 threads for another
reason too: the next ticket is announced while a step is worked on, and its inputs are brought while other warps still push. The convnet's steps have fewer
barriers since a thread goes back through a fully connected layer and adds to its gradient in one pass, and the next step's samples are chosen behind one barrier. In `conv_step` the way back through the second
convolution has 8 units of work, so half of the 16 warps wait there; `conv_tensor` has 24. The sums over parts lie in the tile of inputs, which takes 8 KB less shared memory than before: a step of
`linear_step` with more than 514 live inputs brings them once more for the push. Steps of one row stay at 256 threads, three
on a multiprocessor: with 512 it would take one, softmax 1.5 and the perceptron 1.4 times the slots, and a warp would still have 0.77 and 0.69
of its instructions (10,700 slots and 5 barriers; 39,300 and 15).

## Several GPUs, computed

Nothing here has been measured: there were never two GPUs. Over NVLink a worker on another GPU than the weights' adds each step to them, or it trains a [replica](../designs/gpu.md#several-gpus)
and merges. A merge reads the weights and adds as many differences. Through host memory it reads a vector for each worker and one more, and writes one. It takes, at the
published rates of NVLink on an H200 (900 GB/s in both directions, NVIDIA, *H200 Tensor Core GPU*, data sheet) and of PCI Express 4.0 x16 (31.5 GB/s each way), with a
fifth more bytes for the headers of additions over NVLink (estimated), and one worker a GPU:

{merges}

Through the host all GPUs read at the same time: six of them 42 vectors a merge, of memory that the processors share.

The rates of 2, 4 and 8 H200 follow from the rate of one ([measured](gpu.md), 132 steps in flight), from the sectors above, and from {queued} µs for a queued launch (measured):

{scaling}

Steps that add over NVLink share the first GPU's links, so any number of GPUs is worth one and a half to two and a half. Replicas leave the links nearly idle.
A launch of 64 steps does not fill a GPU that has room for 132: the rates of its rows are bounds.
These are rates of training, not times to a loss: {wide} steps in flight on 8 GPUs, and replicas that merge seldom, need a small learning rate
([by merge interval](asynchrony.md#replicas-by-merge-interval)).

## Hot lines: hypothesis H1

On the H200 ([measured](gpu.md)) sparse rows trained at 110 M/s with plain additions at 264, 1,056 and 2,112 steps in flight alike, and at 324 M/s with 512 local columns,
with less than 10% of the issue slots, of the additions and of the bandwidth of memory in use (computed). One sector alone took
570 M additions a second.

H1, which nothing has proved or refuted yet: **a line of the L2 cache that is loaded and added to in turn allows about 100 M such pairs a
second**, whatever it allows of either alone. Plain rows load and add to the bias once each, so 110 M rows/s are 110 M pairs of one sector;
with 512 local columns the fullest line left has 27% of the rows, 89 M pairs at 324 M/s (computed). The [microbenchmark](#what-a-gpu-has-to-decide)
`a line: loads and additions in turn, one sector, a lane of each of 2112 warps` decides: near 100 M/s/line, with `loads` and `additions`
alone at several times that, H1 holds, and biases that are held back and scattered columns gain.

Those rates are of columns numbered by how frequent they are, in that order in the GPU's memory: the most frequent ones shared a few
lines. Now columns are scattered there (`cuda/scatter.go`): neighbours are in different lines. The stand-in counts what is added to each
line, over an epoch; `HOGWILD_SCATTER=off` in the environment leaves the columns in order. A warp that adds to a line has loaded from it
before, so under H1 a line that most rows' warps add to sets the limit in the last column, which nothing has measured.

{fullest}

Scattered columns cost the sectors that neighbours shared: with imdb 140 a row for 93, which allow 105 G/140 = 750 M rows/s. One step in flight ends with the same
weights bit for bit.

Are 512 local columns still worth it? With 40 of 50,000 columns, the most frequent one in 12% of the rows, they cost 90 slots a
row and lower what is added to the fullest line from 0.12 to 0.023. At the 1.7 µs that a row took on the H200 (264 in flight with local columns, 153 M/s) the
scattered columns alone would be limited by a line from 1,400 steps in flight on: below, local columns gain nothing. Of imdb one column is in
99% of the rows, which no layout spreads: there local columns take the limit from 100 M rows/s to 1.4 G (105 G/76 sectors). So the default stays until a GPU has measured both.

## The bias of sparse rows

With more than 32 steps in flight the warps of a CTA add to the bias in shared memory, and one of them adds the change to the
weights every n of the CTA's steps, and the rest when the launch ends: nothing is lost. Then that limit is n times as high. With
`--in-flight` C, n x C/8 steps hold their change back together. They may be as many as cost nothing in flight at the learning rate
that is used, times lambda over the bias's step ([asynchrony](asynchrony.md#the-bias-of-sparse-models---bias-step-autooff)); n is 64
at the most. With one output, `--merge-every 1` adds the bias at each step; local columns have the bias among them. A bias whose
change a warp kept in a register for a ticket of 32 rows would be held back by 32 C steps for as many additions as n = 4 makes.

## What a GPU has to decide

`make cuda && bin/cuda.test -test.run '^$' -test.bench Micro` measures a GPU (`HOGWILD_GPU`, default 0), and so does `make gpu-check`. The
kernels' next changes depend on:

| figures | what they decide |
|---|---|
| add: one sector, a lane of each of 264, 1056, 2112 warps, and of all | if they stay below 0.3 G sectors/s, operations on one sector queue: the bias must be held back, and the most frequent columns be local by default |
| add: 8 sectors of 2 lines, and 25 lines, a lane of each of as many warps | what queues: sectors, if 8 take 8 times what one does; lines, if twice; with 25 lines, how far a small vector spreads |
| a line: loads, additions, and both in turn, on one sector, 4 sectors of a line, 4 lines, a whole line | [H1](#hot-lines-hypothesis-h1) |
| load: latency and bandwidth, L2 cache; the same with scope gpu, and weak | what `ld.relaxed.sys` costs compared with narrower scopes. Within one GPU scope gpu would do; a weak load may be served from a stale L1 cache |
| load: bandwidth, memory | how near factors and large sparse sets are to what memory gives: read over 16 GiB, or half of what is free |
| load: bandwidth, vectors of 4 | whether gathers are to load four weights a lane, and more of them ahead, before CTAs have more warps |
| add: as many weights as models have, vectors of 4, 8 weights a line, stores | limits of dense models; whether additions of four are worth it, slices go by lines, and what stores gain. Mvectors/s are steps of all workers, without skipped zeros |
| launch; store of the host, seen by a running kernel | how short a launch may be; how soon a stop is obeyed |
| copy | sets that stream, snapshots, replicas that are averaged |
| bytes to floats; multiply-add, with the clock meanwhile | linear models on images; every product. The limits above count on 1,975 MHz |

An H200's figures are in [gpu.md](gpu.md).

## Where the slots go

By source function, with inlined functions listed separately; the accesses of dev.h count where they are called. For single lines:
`cuda/kernels/table.py --where KERNEL`.

{functions}

## The inner loops

Innermost loops with at least 5% of the slots, the largest per workload; turns are iterations of a warp.

{inner}

## Size

`hogwild-cuda` contains the kernels as PTX and as machine code, compressed per source and GPU; a process decompresses what it
loads. For 8.9 ptxas writes the same instructions as for 8.6, so sm_89 has no files.

{sizes}

<!-- {sums} -->
"""
