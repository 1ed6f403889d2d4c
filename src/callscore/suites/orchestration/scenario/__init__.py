"""What the annotators wrote: scenarios, agent cards, and the steps that a model is asked."""
