// The parts of the HTML page that tell of records, and what other parts are made with; each function returns a piece of
// HTML.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "report/page_part.h"
#include "report/run.h"

namespace evener::report {

/// A command line, quoted for a shell. Words aren't broken if they fit on a line, as browsers would break them after
/// the dashes of an option.
std::string command_html(const std::vector<std::string>& command);

/// The colour of the n-th run, safe for colour-blind readers (Okabe and Ito); repeats after eight.
const char* run_color(std::size_t n);
/// A spot in that colour.
std::string swatch(std::size_t n);

/// The data of all plots as JSON.
std::string plot_data(std::span<const Run> runs, std::span<const PagePart> parts = {});

/// A card with a placeholder for a plot, its title and an explanation. `control`: HTML beside the title.
std::string plot_card(const std::string& id, const std::string& title, const std::string& explanation,
                      const std::string& control = "");

std::string header_part(std::span<const Run> runs);
/// The place for the latency plots of runs that were measured in a scenario; "" without such a run.
std::string latency_part(std::span<const Run> runs);
/// For each job its runs, as cards or (if many) as a table, and its plots.
std::string jobs_part(std::span<const Run> runs);
/// Command, machine, versions.
std::string setting_part(std::span<const Run> runs);
/// Warnings about the data or the training; "" without any.
std::string warnings_part(std::span<const Run> runs);
std::string notes_part(std::span<const Run> runs);
/// The timeline of each pipeline's stages and micro-batches; "" without such a run.
std::string timeline_part(std::span<const Run> runs);
/// The device, memory and busy time of each stage, for runs whose network was divided; "" without one.
std::string stages_part(std::span<const Run> runs);
/// Each replica's share and times, for runs on several replicas; "" without such a run.
std::string replicas_part(std::span<const Run> runs);
/// The accuracy of each class and the confusion matrix; "" without one.
std::string classes_part(std::span<const Run> runs);
/// The time of each layer, for runs that measured it; "" without such a run.
std::string profile_part(std::span<const Run> runs);
/// Tables of all epochs and of every value of the records.
std::string details_part(std::span<const Run> runs);

/// Reads the column latency_s of a latencies.csv, shortest first; skips lines without a number (a killed run's last
/// one). Throws Error naming the file if it can't be read or has no such column.
std::vector<double> read_latencies(const std::filesystem::path& path);

/// A histogram of latencies: the shares of queries in bins that are equally wide on a logarithmic scale.
struct LatencyHistogram {
  std::vector<double> edges_s;  // one more than shares
  std::vector<double> shares;
};
/// The histogram of sorted latencies; empty for none.
LatencyHistogram latency_histogram(const std::vector<double>& sorted_s);

/// Whether the page has plots of the run's latency.
bool has_latency(const Run& run);

/// The data that page/latency.js.inc draws for a run.
nlohmann::ordered_json latency_data(const Run& run);

}  // namespace evener::report
