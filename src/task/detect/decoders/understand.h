// Understands anybody's detector: recognises its family by what its file says, and by its outputs for a trial image.
#pragma once

#include <string>
#include <vector>

#include "task/detect/decoders/detector_file.h"

namespace evener::task {

struct UnderstoodDetector : RecognisedDetector {
  std::vector<std::string> class_names;  // of all classes
  std::string named_by;                  // whose names are assumed: "COCO"; "" = the file's, a user's, or none
};

/// Throws UsageError, naming the nearest, for a name that is none of those that --decoder takes.
void check_decoder_name(const std::string& name);

/// `model`: the file's name, for messages. Throws UsageError where it is no detector, or none that is known: what its
/// outputs are, and which families are known; and where the number of names isn't that of its classes.
UnderstoodDetector understand(const DetectorFile& file, const std::string& model);

}  // namespace evener::task
