"""What Odradek costs. Timing lives here, never in a test.

``python -m benchmarks.main`` crawls a generated site with the whole pipeline. Quote CPU-seconds and ratios, medians of
several runs: wall times of a shared machine mean little.
"""
