// The parts that the HTML page is put together from; each returns a piece of HTML. Inside report/ only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace evener::report {

/// A command line as a shell would take it. Each word stays on one line where it fits: a browser would break after the
/// dashes of an option.
std::string command_html(const std::vector<std::string>& command);

/// Colour of the n-th run, safe for colour-blind readers (Okabe and Ito); the ninth has the first one's again.
const char* run_color(std::size_t n);
/// A spot of it.
std::string swatch(std::size_t n);

/// The numbers that the plots draw, as JSON.
std::string plot_data(std::span<const Run> runs);

/// A card with the place for a plot, under its title and what it shows. `control`: HTML beside the title.
std::string plot_card(const std::string& id, const std::string& title, const std::string& explanation,
                      const std::string& control = "");

std::string header_part(std::span<const Run> runs);
/// Places for the plots of latency, of runs that were measured in a scenario; "" without such a run.
std::string latency_part(std::span<const Run> runs);
/// Of each job its runs, as cards or, where they are many, as a table, and its plots.
std::string jobs_part(std::span<const Run> runs);
/// Places for the plots of one job, the `number`-th, with what each shows; only those that say something.
std::string plots_of_job(std::span<const Run> runs, const std::vector<std::size_t>& job, std::size_t number);
/// Some images with what a network said of them; "" without any.
std::string predictions_part(std::span<const Run> runs);
/// What detectors found of the boxes that are known; "" without any.
std::string detection_part(std::span<const Run> runs);
/// Command, machine, versions.
std::string setting_part(std::span<const Run> runs);
/// What is wrong with what was learnt, or learnt from; "" where nothing is known to be.
std::string warnings_part(std::span<const Run> runs);
std::string notes_part(std::span<const Run> runs);
/// When each stage of a pipeline computed which micro-batch; "" without such a run.
std::string timeline_part(std::span<const Run> runs);
/// What the stages of each replica were given and how busy they were, for runs whose layers were divided; "" without
/// one.
std::string stages_part(std::span<const Run> runs);
/// What each replica did, for runs on several; "" without such a run.
std::string replicas_part(std::span<const Run> runs);
/// Accuracy of each class and which was taken for which; "" where nothing was counted.
std::string classes_part(std::span<const Run> runs);
/// The error of each layer of a quantised network; "" without such a run.
std::string layers_part(std::span<const Run> runs);
/// What each layer took, of runs that timed them; "" without such a run.
std::string profile_part(std::span<const Run> runs);
/// Tables of all epochs and of every value of the records.
std::string details_part(std::span<const Run> runs);

}  // namespace evener::report
