"""Act four: a question finds candidates, which are fused into one list, ranked, and freed of repeats."""
