"""Exercises for students: write a function, and `check` compares it with the library, example by example."""

from perceptrons.teaching.checking import Checked, check
from perceptrons.teaching.exercises import EXERCISES, Exercise

__all__ = ["EXERCISES", "Checked", "Exercise", "check"]
