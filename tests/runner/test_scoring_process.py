"""A run that scores in a process of its own: the same bytes as in one process."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from commands import run, start
from tests_data import write_cases

import callscore
