// Writes labels that look wrong: as a table, and as a page with pictures.
#pragma once

#include <filesystem>

#include "job/labels/findings.h"
#include "job/observer.h"

namespace evener::job {

inline constexpr const char *kLabelsTable = "labels.csv", *kLabelsPage = "labels.html";

/// Throws UsageError where `folder` has such files already, unless they may be replaced; Error where nothing can be
/// written there. Creates nothing.
void require_place_for_labels(const std::filesystem::path& folder, bool overwrite);

/// Writes labels.csv, with a row for each, and labels.html, with the worst and their pictures. Adds pictures that can't
/// be read to `findings.skipped`. Throws Error, Interrupted.
void write_label_files(LabelFindings& findings, const std::filesystem::path& folder, Observer& observer);

/// labels.csv as text.
std::string labels_csv(const LabelFindings& findings);

}  // namespace evener::job
