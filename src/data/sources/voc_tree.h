// Finds the images, the XML and the image sets of PASCAL VOC data, by names alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "data/sources/source.h"

namespace evener::data {

/// A folder of images and a folder with an XML file for each; they may be the same folder.
struct VocTree {
  std::filesystem::path images, annotations;
  std::filesystem::path sets;    // ImageSets/Main, or empty
  Part part = Part::kUndivided;  // by the name of the tree's folder
};

/// The trees in a folder: JPEGImages/ and Annotations/ (also under the names images, annotations, xml and such), or one
/// folder with images and XML; those of the folder itself, else those of the folders in it, down to `depth` folders.
/// None if there is no XML that begins as VOC's.
std::vector<VocTree> find_voc_trees(const std::filesystem::path& folder, int depth = 3);

/// Which part each image of train.txt, val.txt and test.txt belongs to, by its name without extension; images of
/// trainval.txt alone are for training. An image in several files belongs to the first of test, validation and
/// training, with a note, or with `strict` an Error. Absent where there are no such files: then all images count,
/// undivided. `known`: the names of the tree's annotations, by which a number that is part of a name is told from a
/// flag behind it.
using ImageSets = std::unordered_map<std::string, Part>;
using AnnotationNames = std::unordered_set<std::string>;
std::optional<ImageSets> read_image_sets(const std::filesystem::path& folder, const AnnotationNames& known, bool strict,
                                         std::vector<std::string>& notes);

}  // namespace evener::data
