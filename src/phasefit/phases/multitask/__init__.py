"""Multitask: one encoder for several tasks, with one head each (MT-DNN, Liu et al., 2019; CS224N).

`options` holds the options, without torch; `task` is one task, `phase` the step. May import what `phases` may, and
the heads of finetune.
"""
