"""Open-loop ranks R1-R3 as lm-eval tasks, their scoring and aggregation, the diagnosis, and the command line.

Importing this package loads neither lm_eval nor datasets; its modules do when they need them.
"""
