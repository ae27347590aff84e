"""The executor that shows where time goes."""
