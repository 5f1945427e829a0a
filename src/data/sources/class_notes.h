// Notes on classes with few images or none.
#pragma once

#include <string>
#include <vector>

#include "data/sources/source.h"

namespace evener::data {

/// Adds notes on classes: for few classes a note each, "the class 'a' ONE"; for many one sentence, "40 classes MANY:
/// 'a', 'b', ...".
void note_classes(const std::vector<std::string>& names, const std::string& one, const std::string& many,
                  Source& source);

/// Notes the classes of `source.dataset` without samples. They keep their numbers, so that numbers agree with other
/// programs'.
void note_empty_classes(Source& source);

}  // namespace evener::data
