// The classes of the data that most published detectors were trained on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace evener::task {

/// Names by the number of classes: COCO's 80; 90 or 91 numbers as COCO gives them, with gaps (91: from 0, which is the
/// background); VOC's 20. Empty for another number.
std::vector<std::string> usual_names(std::size_t count);
/// Whose names usual_names() gives: "COCO", "VOC"; "" for another number.
std::string usual_names_of(std::size_t count);

/// The other name of a class: "airplane" of COCO is VOC's "aeroplane". Empty: it has none.
std::string synonym_of(const std::string& name);

}  // namespace evener::task
