"""Multitask: one encoder and a head for each of several tasks (MT-DNN, Liu et al., 2019; CS224N).

`options` is what a recipe may say, without torch; `phase` is the step. May import what `phases` may, and
the heads of finetune.
"""
