// Tells labels that look wrong, in words, as a table and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "job/labels/findings.h"

namespace evener::job {

/// How many labels look wrong, and by what they were judged; without the notes.
std::vector<std::string> label_sentences(const LabelFindings& findings);
/// The sentences, the pairs of classes, and the first 20 labels.
std::string labels_text(const LabelFindings& findings);
/// The sums: {images, found, by kind, estimated, share, accuracy, pairs[{label, suggested, found, estimated, share}]}.
nlohmann::ordered_json labels_json(const LabelFindings& findings);

}  // namespace evener::job
