// Axes of a sweep and the cells that they make: every combination of their steps, but for those that are excluded.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "record/sweep_file.h"

namespace evener::bench {

/// The values that a text stands for: "1..8", "8..64/8" (steps of 8), "0.1..0.5/0.1", "2^0..2^4" (1, 2, 4, 8, 16), and
/// the same in braces inside a text ("cpu/t{1..4}"). Any other text is the one value. Throws UsageError for a range
/// that has no end, a step of 0, or more than a thousand values.
std::vector<std::string> expanded(const std::string& text);

/// Values of axes, by name, that don't go together: a cell that has all of them is left out.
using Exclusion = std::map<std::string, std::vector<std::string>>;

/// The values of each cell, by the names of the axes; the last axis changes first. Throws UsageError where an axis has
/// no values or a name stands on two axes, where an exclusion names what is no axis or has no such value, where nothing
/// is left, and for more than ten thousand cells.
std::vector<std::map<std::string, std::string>> combinations(const std::vector<record::SweepAxis>& axes,
                                                             const std::vector<Exclusion>& exclusions);

/// "on=cpu/t2, batch=32": the values of a cell, in the order of the axes; those of axes with one step are left out
/// unless all have but one.
std::string cell_name(const std::vector<record::SweepAxis>& axes, const std::map<std::string, std::string>& values);

/// A name for the folder of the cell: its values with what a file name can't have replaced, and the beginning of its
/// key.
std::string cell_folder(const std::vector<record::SweepAxis>& axes, const std::map<std::string, std::string>& values,
                        const std::string& key);

}  // namespace evener::bench
