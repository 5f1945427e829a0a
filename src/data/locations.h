// Several places of data in one text, as options, records and checkpoints have it.
#pragma once

#include <string>
#include <vector>

namespace evener::data {

/// Stands between the places: "photos + corrected".
constexpr const char* kLocationJoint = " + ";

/// The places that a text names: itself where it is on disk, or none of its parts is there or synthetic.
std::vector<std::string> locations_in(const std::string& text);

/// Whether all the places are on disk.
bool are_on_disk(const std::string& text);

/// The same places with their whole paths.
std::string absolute_locations(const std::string& text);

/// Whether both name the same places, however they are spelt.
bool are_same_locations(const std::string& a, const std::string& b);

}  // namespace evener::data
