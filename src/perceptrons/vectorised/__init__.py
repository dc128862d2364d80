"""What prediction needs of the compiled loops, with NumPy: it takes their place where numba is not installed.

Each function has the arguments and results of the loop that is decorated with it (`compiling.without_numba`).
"""
