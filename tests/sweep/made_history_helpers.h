// Made-up histories: a run each night, with a noise of 1 %.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sweep/history/history.h"

namespace evener::test {

struct Nights {
  int count = 60;
  int slower_from = 1000;       // the first night of a slower program
  double slower_by = 0.06;      // share of the speed
  double peak_rss_bytes = 1e9;  // of all nights
  std::string cpu = "Zen";      // of the machine
  std::string placement = "cpu/t2";
};

/// "2026-10-01T02:00:00Z" for night 0.
std::string night_text(int night);

/// The record of a night: VALID, with the version and the program's identity of that night.
record::Record record_of_night(const Nights& nights, int night);

/// The runs of all nights as history_of() takes them.
std::vector<sweeps::HistoryRun> runs_of_nights(const Nights& nights);

/// Writes a folder for each night's run into `folder`.
void write_nights(const std::filesystem::path& folder, const Nights& nights);

}  // namespace evener::test
