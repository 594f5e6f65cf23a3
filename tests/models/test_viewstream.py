import pytest
import torch

from freqlf.lightfield import LINES
from freqlf.models.halflines import HalfLines
from freqlf.models.viewstream import INNER_VIEWS, ViewStream, align_residuals
from models.kernels.conftest import in_float64, make_half_lines

SHAPES = [(21, 34, 9, 2), (7, 5, 3, 1), (33, 20, 17, 1), (1, 9, 5, 1), (9, 1, 5, 1)]
