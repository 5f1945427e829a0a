// Writes the results of a detection into its record and its tables.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "job/detect/box_sink.h"
#include "record/detection.h"
#include "record/record.h"

namespace evener::job {

/// Adds metrics to the record: how many boxes were found and, with `quality`, how well.
void fill_detection(record::Record& record, const BoxSink& writer, const task::DetectionQuality* quality);

/// "mAP@0.5 71.2 % (VOC 2007: 69.0 %), COCO 41.0 %" and so on, a line each, for people.
std::string quality_text(const task::DetectionQuality& quality, const std::vector<std::string>& classes);

/// Writes all figures as class,metric,value; absent figures have no value.
void write_metrics(const std::filesystem::path& path, const task::DetectionQuality& quality,
                   const std::vector<std::string>& classes);

/// Writes the confusion matrix as rows of true class, found class and count, without zeros.
void write_box_confusion(const std::filesystem::path& path, const task::BoxConfusion& confusion,
                         const std::vector<std::string>& classes);

/// The figures for the page, still without the photos of misses.
record::DetectionFigures detection_figures(const BoxSink& writer, const task::DetectionQuality& quality,
                                           const std::vector<std::string>& classes);

}  // namespace evener::job
