// range.h - named ranges for profilers such as Nsight Systems.
#pragma once
#include "internal.h"

void bt_range(bt_ctx *, const char *name); // begins one; NULL ends the latest
