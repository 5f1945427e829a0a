// The axes of a sweep and its cells: all combinations of the axes' values except excluded ones.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "record/sweep_file.h"

namespace evener::sweeps {

/// Expands a range to its values: "1..8", "8..64/8" (in steps of 8), "0.1..0.5/0.1", "2^0..2^4" (1, 2, 4, 8, 16), also
/// in braces inside a text ("cpu/t{1..4}"). Any other text is returned as the only value. Throws UsageError for a range
/// without end, a step of 0, and more than a thousand values.
std::vector<std::string> expanded(const std::string& text);

/// Excludes cells: for each named axis a list of values; a cell is left out if each of these axes has one of its
/// values.
using Exclusion = std::map<std::string, std::vector<std::string>>;

/// All cells, each as a map from names of axes to values; the last axis varies fastest. Throws UsageError if an axis
/// has no values, if a name is on two axes, if an exclusion names an unknown axis or value, and for no cells or more
/// than ten thousand.
std::vector<std::map<std::string, std::string>> combinations(const std::vector<record::SweepAxis>& axes,
                                                             const std::vector<Exclusion>& exclusions);

/// A cell's name, "on=cpu/t2, batch=32": its values in the order of the axes. Axes with a single value are left out,
/// unless all axes have just one.
std::string cell_name(const std::vector<record::SweepAxis>& axes, const std::map<std::string, std::string>& values);

/// The name of a cell's folder: its values, with characters replaced that a file name can't have, and the beginning of
/// its key.
std::string cell_folder(const std::vector<record::SweepAxis>& axes, const std::map<std::string, std::string>& values,
                        const std::string& key);

}  // namespace evener::sweeps
