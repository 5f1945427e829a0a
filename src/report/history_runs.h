// Finds the runs of a history, and puts those of the same cell on the same machine together. Inside report/ only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/history.h"

namespace evener::report {

/// All runs in and below the folders, each once, in no order. What was left out, and why, is added to `notes`.
std::vector<HistoryRun> find_history_runs(const std::vector<std::filesystem::path>& folders,
                                          const HistoryChoice& choice, std::vector<std::string>& notes);

/// Series by the names of their cells, with runs by date; without figures.
std::vector<HistorySeries> series_of(std::vector<HistoryRun> runs);

}  // namespace evener::report
