"""Multitask: one encoder and a head for each of several tasks (MT-DNN, Liu et al., 2019; CS224N)."""
