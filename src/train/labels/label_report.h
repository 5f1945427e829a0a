// Tells labels that look wrong: as text, as JSON, and in a folder as a table and as a page with pictures.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure/run/observer.h"
#include "train/labels/labels_job.h"

namespace evener::training {

inline constexpr const char *kLabelsTable = "labels.csv", *kLabelsPage = "labels.html";

/// The first 20 labels, the pairs of classes, how many labels look wrong, and by what they were judged; without the
/// notes.
std::string labels_text(const LabelFindings& findings);
/// The sums: {images, found, by kind, estimated, share, accuracy, pairs[{label, suggested, found, estimated, share}]}.
nlohmann::ordered_json labels_json(const LabelFindings& findings);

/// Throws UsageError where `folder` has such files already, unless they may be replaced; Error where nothing can be
/// written there. Creates nothing.
void require_place_for_labels(const std::filesystem::path& folder, bool overwrite);

/// Writes labels.csv, with a row for each, and labels.html, with the worst and their pictures. Adds pictures that can't
/// be read to `findings.skipped`. Throws Error, Interrupted.
void write_label_files(LabelFindings& findings, const std::filesystem::path& folder, measure::Observer& observer);

}  // namespace evener::training
