// Notes on classes with few images or none.
#pragma once

#include <string>
#include <vector>

#include "data/sources/source.h"

namespace evener::data {

/// "the class 'a' ONE", for few classes each by itself, for many all in one sentence: "40 classes MANY: 'a', 'b', ...".
void note_classes(const std::vector<std::string>& names, const std::string& one, const std::string& many,
                  Source& source);

/// Notes the classes of `source.dataset` that no sample has. Their numbers stay, as other programs count them too.
void note_empty_classes(Source& source);

}  // namespace evener::data
