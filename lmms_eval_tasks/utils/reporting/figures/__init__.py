"""Figures of reports: what they show as data, and their drawing, which the page and every file share."""

from lmms_eval_tasks.utils.reporting.figures.axis import Bounds, fit_axis
from lmms_eval_tasks.utils.reporting.figures.dots import Dot, DotPlot
from lmms_eval_tasks.utils.reporting.figures.figure import Figure
from lmms_eval_tasks.utils.reporting.figures.grids import CountTable, HeatMap, count_table, heat_map
from lmms_eval_tasks.utils.reporting.figures.plots import Line, LinePlot, Place, Point, ScatterPlot
from lmms_eval_tasks.utils.reporting.figures.shares import SharePlot, share_plot

__all__ = [
    "Bounds",
    "CountTable",
    "Dot",
    "DotPlot",
    "Figure",
    "HeatMap",
    "Line",
    "LinePlot",
    "Place",
    "Point",
    "ScatterPlot",
    "SharePlot",
    "count_table",
    "fit_axis",
    "heat_map",
    "share_plot",
]
