"""Plugin of MultiQC: general statistics and two plots of hapgpu's run statistics.

MultiQC finds it through the entry points of the package; hapgpu itself never imports it.
"""
