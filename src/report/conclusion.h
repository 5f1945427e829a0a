// What the runs showed and what they left open, in sentences.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// "In one run of each, resnet34 trained fastest on cpu/t2, with 26.9 images/s: 1.85x as fast as on cpu/t1 (14.5)."
/// Compares the fastest of the runs of the same model and data with the others. No run is called fastest if noise, too
/// few samples or INVALID measurements leave that open. The last sentence names the INVALID runs.
std::vector<std::string> conclusion(std::span<const Run> runs);

/// The same with a line for each sentence, escaped for a terminal or for Markdown, since records may come from other
/// people.
std::string terminal_conclusion(std::span<const Run> runs);
std::string markdown_conclusion(std::span<const Run> runs);

}  // namespace evener::report
