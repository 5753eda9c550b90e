"""How sure a score is: intervals, paired tests, power and correlations for clustered, bounded scores."""
