"""Supervised fine-tuning on weak tasks: training sets that show what evaluation shows and share nothing with it."""
