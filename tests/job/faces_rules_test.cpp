// Names, numbers, folders and tables of faces, which are made up here: what each rule of them says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "base/test_folder.h"
#include "job/faces/growing_results.h"
#include "job/faces/known.h"
#include "job/faces/results.h"

namespace evener::job {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
namespace fs = std::filesystem;

std::string whole_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename Work>
std::string failure(Work work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// A face of so many pixels with a vector of two numbers.
task::EmbeddedFace face(std::size_t photo, float width, float height, float probability, std::vector<float> vector) {
  task::EmbeddedFace found;
  found.photo = photo;
  found.face.box.x1 = 10;
  found.face.box.y1 = 20;
  found.face.box.x2 = 10 + width;
  found.face.box.y2 = 20 + height;
  found.face.box.probability = probability;
  found.embedding = std::move(vector);
  return found;
}

task::PhotoFaces photo(std::size_t number, std::uint64_t content, std::vector<task::EmbeddedFace> faces) {
  task::PhotoFaces found;
  found.photo = number;
  found.content = content;
  found.faces = std::move(faces);
  return found;
}

class FacesRules : public testing::Test {
 protected:
  /// So many photos, p0.jpg and so on.
  data::Pictures photos(int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      names.push_back((folder_ / ("photos/p" + std::to_string(i) + ".jpg")).string());
      test::write_text(names.back(), std::to_string(i));
    }
    return data::Pictures(names);
  }
  PersonNames named(const std::string& text) {
    test::write_text(names_file(folder_.path()), text);
    return PersonNames(folder_.path());
  }
  std::string refused(const std::string& text) {
    return failure([&] { named(text); });
  }

  test::TestFolder folder_;
  Observer silent_;
};

TEST_F(FacesRules, NamesAreReadAsSpreadsheetsWriteThem) {
  const PersonNames names =
      named("\xEF\xBB\xBFgroup;name\r\n3;Anna\r\n\r\n2\t \"Bert, \"\"the\"\" first\" \n5,\n7\n12, Carla \n");
  EXPECT_THAT(names.all(), ElementsAre(Pair(1, "Bert, \"the\" first"), Pair(2, "Anna"), Pair(11, "Carla")));
  EXPECT_EQ(names.of(2), "Anna");
  EXPECT_EQ(names.of(3), "");
  EXPECT_THAT(named("1,Dora\n").all(), ElementsAre(Pair(0, "Dora"))) << "without a heading";
  EXPECT_THAT(refused("1,A\ngroup,name\n"), HasSubstr("line 2"));
  EXPECT_THAT(refused("1,A\n\n1,B\n"), StartsWith("line 3 of "));
  EXPECT_THAT(refused("1,A\n\n1,B\n"), HasSubstr("names a group that has a name already"));
  EXPECT_THAT(refused("x,A\n"), HasSubstr("is not a group's number"));
  EXPECT_THAT(refused("-1,A\n"), HasSubstr("is not a group's number"));
  EXPECT_THAT(refused("1.5,A\n"), HasSubstr("is not a group's number"));
  EXPECT_THAT(refused("0,A\n"), HasSubstr("is not a group's number"));
  EXPECT_THAT(refused("1,\xE4\n"), HasSubstr("is not in UTF-8"));
}

TEST_F(FacesRules, NamesAreWrittenForPersonsWithAndWithoutOne) {
  PersonNames names = named("2,\"Bert, Jr\"\n9,Zoe\n");
  names.write(folder_.path(), {0, 1, 4});
  EXPECT_EQ(whole_text(names_file(folder_.path())), "group,name\n1,\n2,\"Bert, Jr\"\n5,\n9,Zoe\n");
  EXPECT_THAT(PersonNames(folder_.path()).all(), ElementsAre(Pair(1, "Bert, Jr"), Pair(8, "Zoe")));
}

TEST_F(FacesRules, ANameFollowsTheFacesThatAreSomebodysStill) {
  PersonNames names = named("1,Anna\n2,Bert\n");
  // Two faces of Anna are nobody's now; of the others two went to 6 and one to 3. Faces beyond the known don't count.
  EXPECT_THAT(names.follow({0, 0, 0, 0, 0, 1}, {-1, -1, 3, 6, 6, 9, 3, 3, 3}), IsEmpty());
  EXPECT_THAT(names.all(), ElementsAre(Pair(6, "Anna"), Pair(9, "Bert")));
  PersonNames first = named("1,Anna\n2,Bert\n");
  EXPECT_THAT(first.follow({1, 0}, {0, 1}), IsEmpty());
  EXPECT_THAT(first.all(), ElementsAre(Pair(0, "Bert"), Pair(1, "Anna"))) << "they changed places";
  PersonNames waiting = named("1,Anna\n2,Bert\n");
  EXPECT_THAT(waiting.follow({1}, {1}), ElementsAre(HasSubstr("the name waits there")));
  EXPECT_THAT(waiting.all(), ElementsAre(Pair(0, "Anna"), Pair(1, "Bert")));
}

TEST_F(FacesRules, FoldersAreOfNamesOrNumbers) {
  EXPECT_EQ(person_folder(0, ""), "person-1");
  EXPECT_EQ(person_folder(11, ""), "person-12");
  EXPECT_EQ(person_folder(3, "A/B"), "A_B");
}

TEST_F(FacesRules, PhotosAreLinkedIntoTheFoldersOfAllTheirPersons) {
  const data::Pictures pictures = photos(4);
  test::write_text(folder_ / "more/p0.jpg", "x");
  const fs::path out = folder_ / "sorted";
  const auto file = [&](std::size_t i) { return pictures.source(i); };
  EXPECT_EQ(sort_photos(out, {{file(0), {"Anna", "Bert"}},
                              {file(1), {}},
                              {file(2), {"Bert"}},
                              {(folder_ / "more/p0.jpg").string(), {"Bert"}}}),
            5u);
  EXPECT_EQ(fs::read_symlink(out / "Anna/p0.jpg"), file(0));
  EXPECT_EQ(fs::read_symlink(out / "Bert/p0.jpg"), file(0));
  EXPECT_EQ(fs::read_symlink(out / "Bert/p0-2.jpg"), folder_ / "more/p0.jpg") << "another photo of that name";
  EXPECT_EQ(fs::read_symlink(out / "unknown/p1.jpg"), file(1));
  // Who is somebody else now has one link, and a folder without any goes.
  EXPECT_EQ(sort_photos(out, {{file(0), {"Bert"}}, {file(2), {"Carl"}}}), 2u);
  EXPECT_FALSE(fs::exists(out / "Anna"));
  EXPECT_FALSE(fs::exists(out / "unknown"));
  EXPECT_EQ(fs::read_symlink(out / "Bert/p0.jpg"), file(0));
  EXPECT_FALSE(fs::exists(fs::symlink_status(out / "Bert/p2.jpg")));
  EXPECT_FALSE(fs::exists(fs::symlink_status(out / "Bert/p0-2.jpg")));
  // A link to another photo of the same name is made anew.
  EXPECT_EQ(sort_photos(out, {{(folder_ / "more/p0.jpg").string(), {"Bert"}}}), 1u);
  EXPECT_EQ(fs::read_symlink(out / "Bert/p0.jpg"), folder_ / "more/p0.jpg");
}

TEST_F(FacesRules, OnlyFoldersThatWereSortedIntoAreTaken) {
  const data::Pictures pictures = photos(1);
  const auto refused_folder = [&](const fs::path& out) { return failure([&] { check_sort_folder(out, {}); }); };
  EXPECT_EQ(refused_folder(folder_ / "new"), "");
  fs::create_directories(folder_ / "empty");
  EXPECT_EQ(refused_folder(folder_ / "empty"), "");
  test::write_text(folder_ / "file", "");
  EXPECT_THAT(refused_folder(folder_ / "file"), HasSubstr("is no folder"));
  fs::create_directories(folder_ / "others/Anna");
  EXPECT_THAT(refused_folder(folder_ / "others"), HasSubstr("holds 'Anna', which is no link"));
  const fs::path ours = folder_ / "ours";
  sort_photos(ours, {{pictures.source(0), {"Anna"}}});
  EXPECT_EQ(refused_folder(ours), "");
  test::write_text(ours / "Anna/mine.txt", "");
  EXPECT_THAT(refused_folder(ours), HasSubstr("holds 'Anna/mine.txt'"));
  fs::remove(ours / "Anna/mine.txt");
  test::write_text(ours / "note.txt", "");
  EXPECT_THAT(refused_folder(ours), HasSubstr("holds 'note.txt'"));
  fs::remove(ours / "note.txt");
  fs::create_directory_symlink(folder_ / "empty", ours / "link");
  EXPECT_THAT(refused_folder(ours), HasSubstr("holds 'link'"));
  EXPECT_THAT(failure([&] { check_sort_folder(folder_ / "photos/sorted", {(folder_ / "photos").string()}); }),
              HasSubstr("lies within the photos"));
}

TEST(FoundersOfGroups, AreLargeAndLikely) {
  const auto may = [](float width, float height, float probability) {
    return may_found(face(0, width, height, probability, {}).face.box, {40});
  };
  EXPECT_TRUE(may(40, 50, 0.96F));
  EXPECT_TRUE(may(50, 40, 0.95F));
  EXPECT_FALSE(may(39, 50, 0.96F));
  EXPECT_FALSE(may(50, 39, 0.96F));
  EXPECT_FALSE(may(40, 50, 0.94F));
}

TEST_F(FacesRules, FacesAreGatheredInTheOrderOfThePhotos) {
  const FoundFaces found = gather_faces(
      {photo(2, 22, {face(2, 50, 50, 0.99F, {1, 0})}), photo(0, 20, {}),
       photo(1, 21,
             {face(1, 20, 50, 0.99F, {0, 1}), face(1, 50, 50, 0.9F, {0.5, 0.5}), face(1, 30, 30, 0.99F, {1, 1})})},
      {30});
  EXPECT_EQ(found.photos.size(), 3u);
  EXPECT_EQ(found.photos[1].content, 21u);
  EXPECT_EQ(found.photos[1].faces, 3u);
  EXPECT_EQ(found.photos[0].faces, 0u);
  EXPECT_THAT(found.clear, ElementsAre(false, false, true, true));
  ASSERT_EQ(found.embeddings.size(), 4u);
  EXPECT_EQ(found.embeddings[0][1], 1);
  EXPECT_EQ(found.embeddings[3][0], 1);
  EXPECT_THAT(found.faces[0].embedding, IsEmpty());
  EXPECT_THAT(
      failure([] {
        gather_faces({photo(0, 1, {face(0, 50, 50, 1, {1, 0})}), photo(1, 2, {face(1, 50, 50, 1, {1, 0, 0})})}, {30});
      }),
      HasSubstr("has 3 numbers and others have 2"));
}

/// Unit vectors, which stand so far apart on a circle.
std::vector<float> at_degrees(double degrees) {
  constexpr double kDegree = 3.14159265358979 / 180;
  return {static_cast<float>(std::cos(degrees * kDegree)), static_cast<float>(std::sin(degrees * kDegree))};
}

TEST_F(FacesRules, PersonsKeepTheirNumbersAndNewOnesGetOthers) {
  const data::Pictures pictures = photos(5);
  write_persons(folder_.path(), {{"a", 100, {4}}, {"b", 101, {4, -1}}, {"gone", 555, {2}}}, 6);
  const KnownFaces known = KnownFaces::who_was_who(folder_.path());
  EXPECT_EQ(known.first_new_person(), 6);
  EXPECT_THAT(known.persons(101), ElementsAre(4, -1));
  EXPECT_THAT(known.persons(7), IsEmpty());
  EXPECT_EQ(known.find(100), nullptr);
  EXPECT_THAT(known.vanished({100, std::nullopt, 101}), ElementsAre("gone"));
  FoundFaces found =
      gather_faces({photo(0, 100, {face(0, 50, 50, 1, at_degrees(0))}),
                    photo(1, 101, {face(1, 50, 50, 1, at_degrees(10)), face(1, 50, 50, 1, at_degrees(90))}),
                    photo(2, 102, {face(2, 50, 50, 1, at_degrees(95))}),
                    photo(3, 103, {face(3, 50, 50, 1, at_degrees(180))}), photo(4, 104, {})},
                   {30});
  ComparisonRequest request;
  request.limit = 0.5F;
  request.folder = folder_.path();
  compare_faces(found, pictures, request, known, silent_);
  EXPECT_THAT(found.persons, ElementsAre(4, 4, 6, 6, -1));
  EXPECT_EQ(found.person_count, 2u);
  EXPECT_EQ(found.limit, 0.5F);
  EXPECT_EQ(found.first_new_person, 7);
  EXPECT_THAT(take_names(found, named("5,Anna\n7,Bert\n"), known), ElementsAre(HasSubstr("calls group 7 Bert")));
  EXPECT_EQ(found.names.of(4), "Anna");
  const std::string text = sort_by_person(folder_ / "sorted", found, pictures);
  EXPECT_THAT(text, StartsWith("5 photos sorted into folders of 2 persons in "));
  EXPECT_THAT(text, HasSubstr("by 6 links."));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/Anna/p1.jpg"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/person-7/p1.jpg"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sorted/unknown/p3.jpg"));
  // The next run knows them again by what this one leaves.
  write_faces(folder_.path(), found, pictures, {}, {}, kUsuallySure);
  const KnownFaces next = KnownFaces::who_was_who(folder_.path());
  EXPECT_EQ(next.first_new_person(), 7);
  EXPECT_THAT(next.persons(101), ElementsAre(4, 6));
  EXPECT_THAT(next.persons(103), ElementsAre(-1));
  EXPECT_THAT(next.persons(104), IsEmpty());
  forget_persons(folder_.path());
  EXPECT_EQ(KnownFaces::who_was_who(folder_.path()).first_new_person(), 0);
  EXPECT_TRUE(fs::exists(folder_ / "embeddings.safetensors"));
  write_faces(folder_.path(), gather_faces({}, {30}), pictures, {}, {}, kUsuallySure);
  EXPECT_FALSE(fs::exists(folder_ / "embeddings.safetensors")) << "of the run before";
}

TEST_F(FacesRules, FacesThatPeopleSetApartAreNobodys) {
  const data::Pictures pictures = photos(2);
  test::write_text(folder_ / "apart.csv", "file,face\n\"p1.jpg\";0\n" + pictures.source(0) + ",3\n");
  FoundFaces found = gather_faces({photo(0, 1, {face(0, 50, 50, 1, at_degrees(0)), face(0, 50, 50, 1, at_degrees(5))}),
                                   photo(1, 2, {face(1, 50, 50, 1, at_degrees(2))})},
                                  {30});
  ComparisonRequest request;
  request.limit = 0.5F;
  request.folder = folder_.path();
  compare_faces(found, pictures, request, KnownFaces(), silent_);
  EXPECT_EQ(found.persons[2], -1);
  EXPECT_THAT(found.compared.summary, ElementsAre(HasSubstr("apart.csv names face 3 of ")));
  test::write_text(folder_ / "apart.csv", "p1.jpg,0\np1.jpg,many\n");
  EXPECT_THAT(failure([&] { FacesApart(folder_.path()); }), StartsWith("line 2 of "));
}

TEST_F(FacesRules, PairsOfPhotosAreReadInEveryForm) {
  const data::Pictures pictures = photos(3);
  std::string text = "file_a,file_b,same\n# a note\n";
  const std::string a = pictures.source(0), b = pictures.source(1), c = "photos/p2.jpg";
  for (int i = 0; i < 20; ++i) text += a + "," + b + ",1\r\n" + b + "," + c + ",0\n";
  test::write_text(folder_ / "pairs.csv", text);
  const auto pairs = read_photo_pairs(folder_ / "pairs.csv", pictures);
  ASSERT_EQ(pairs.size(), 40u);
  EXPECT_EQ(pairs[0].first, 0u);
  EXPECT_EQ(pairs[0].second, 1u);
  EXPECT_TRUE(pairs[0].same);
  EXPECT_EQ(pairs[1].second, 2u) << "beside the list";
  EXPECT_FALSE(pairs[1].same);
  const auto refused_list = [&](const std::string& list) {
    test::write_text(folder_ / "pairs.csv", list);
    return failure([&] { read_photo_pairs(folder_ / "pairs.csv", pictures); });
  };
  EXPECT_THAT(refused_list(a + " " + b + " 1\n"), HasSubstr("there are 1 and 0"));
  EXPECT_THAT(refused_list(a + "\t" + b + "\t0\n"), HasSubstr("there are 0 and 1"));
  EXPECT_THAT(refused_list(a + "," + b + ",2\n"), HasSubstr("line 1 of "));
  EXPECT_THAT(refused_list(a + "," + b + ",1\nx,y,z\n"), HasSubstr("line 2 of "));
  EXPECT_THAT(refused_list("\n" + a + ",nobody.jpg,1\n"), HasSubstr("which is not among the photos"));
}

TEST_F(FacesRules, TheLargestFaceOfEachPhotoIsJudged) {
  const data::Pictures pictures = photos(3);
  const FoundFaces found = gather_faces({photo(0, 1,
                                               {face(0, 20, 20, 1, at_degrees(180)), face(0, 50, 50, 1, at_degrees(0)),
                                                face(0, 49, 50, 1, at_degrees(120))}),
                                         photo(1, 2, {face(1, 50, 50, 1, at_degrees(60))}), photo(2, 3, {})},
                                        {30});
  const auto judged = judge_pairs({{0, 1, true}, {1, 0, false}, {0, 2, true}}, found, pictures, folder_ / "table.csv");
  EXPECT_EQ(judged.without_face, 1u);
  EXPECT_THAT(judged.refusal, HasSubstr("there are 1 and 1"));
  EXPECT_FALSE(judged.result);
  EXPECT_EQ(whole_text(folder_ / "table.csv"),
            "file_a,file_b,same_person,distance,cosine\n" + pictures.source(0) + "," + pictures.source(1) +
                ",1,1.000000,0.500000\n" + pictures.source(1) + "," + pictures.source(0) + ",0,1.000000,0.500000\n");
}

TEST_F(FacesRules, TablesTellDistancesAndNeighbours) {
  task::Embeddings embeddings;
  for (const double degrees : {0.0, 60.0, 100.0}) embeddings.add(at_degrees(degrees));
  ComparisonRequest request;
  request.limit = 1.2F;
  request.neighbours = 2;
  request.folder = folder_.path();
  request.file_of = [](std::size_t i) { return "f" + std::to_string(i); };
  const ComparedFaces compared = compare(embeddings, {{0, true}, {1, true}, {2, true}}, request, silent_);
  EXPECT_EQ(compared.pairs.size(), 2u);
  EXPECT_EQ(whole_text(folder_ / "pairs.csv"),
            "face_a,file_a,face_b,file_b,distance,cosine\n1,f1,2,f2,0.684040,0.766044\n0,f0,1,f1,1.000000,0.500000\n");
  EXPECT_EQ(whole_text(folder_ / "neighbours.csv"),
            "face,file,rank,neighbour,neighbour_file,distance,cosine\n0,f0,1,1,f1,1.000000,0.500000\n"
            "0,f0,2,2,f2,1.532089,-0.173648\n1,f1,1,2,f2,0.684040,0.766044\n1,f1,2,0,f0,1.000000,0.500000\n"
            "2,f2,1,1,f1,0.684040,0.766044\n2,f2,2,0,f0,1.532089,-0.173648\n");
  const std::string matrix = whole_text(folder_ / "distances.npy");
  EXPECT_THAT(matrix, HasSubstr("'shape': (3, 3)"));
  EXPECT_EQ(matrix.size(), 128u + 9 * 4);
  request.neighbours.reset();
  compare(embeddings, {{0, true}, {1, true}, {2, true}}, request, silent_);
  EXPECT_FALSE(fs::exists(folder_ / "neighbours.csv")) << "of the comparison before";
}

// What a record and a page say of faces: persons and costs.

TEST(FacesRecord, PersonsAreNoneOfRandomWeights) {
  record::Record record, random;
  record.kind = random.kind = "faces";
  add_comparison(record, 7, 3);
  EXPECT_EQ(record.metrics.at("faces").value, 7);
  EXPECT_EQ(record.metrics.at("persons").value, 3);
  add_comparison(random, 7, std::nullopt);
  EXPECT_FALSE(random.metrics.at("persons").value);
  EXPECT_THAT(random.metrics.at("persons").reason, HasSubstr("weights are random"));
}

TEST(FacesCosts, ChunksAreToldByPhotoAndByTheirOwnTime) {
  const task::FacesChunk first{.worker = 1,
                               .number = 0,
                               .photos = 4,
                               .faces = 9,
                               .begin_s = 0.5,
                               .seconds = 2,
                               .cpu_s = 1,
                               .process_cpu_s = 3,
                               .rss_bytes = 100};
  task::FacesChunk second = first, none = first;
  second.photos = 5;
  second.seconds = 4;
  second.cpu_s = 3;
  second.rss_bytes = 300;
  none.seconds = 0;
  record::Record record, empty;
  record.kind = empty.kind = "faces";
  add_chunks(record, {first, second});
  EXPECT_THAT(record.metrics.at("chunk_s_per_photo").samples, ElementsAre(0.5, 0.8));
  EXPECT_THAT(record.metrics.at("chunk_cpu_percent").samples, ElementsAre(50, 75));
  EXPECT_THAT(record.metrics.at("chunk_rss_bytes").samples, ElementsAre(100, 300));
  EXPECT_EQ(record.metrics.at("chunk_rss_bytes").value, 200);
  EXPECT_EQ(chunk_row(first), "1,0,4,9,0.500,2.000,50.0,150.0,100\n");
  add_chunks(empty, {});
  EXPECT_THAT(empty.metrics, IsEmpty());
  const auto page = chunks_on_page({second, none});
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].cpu_percent, 75);
  EXPECT_EQ(page[1].cpu_percent, 0) << "it took no time";
  EXPECT_EQ(page[0].seconds, 4);
}

// Names of persons go where most of their faces have gone.

TEST_F(FacesRules, OfTwoWhoBecameOneTheNameWithMoreFacesStays) {
  for (const bool is_anna_seen_more : {true, false}) {
    PersonNames moved = named("1,Anna\n2,Bert\n");
    const int more = is_anna_seen_more ? 0 : 1, fewer = 1 - more;
    const auto notes = moved.follow({more, fewer, more, more}, {5, 5, 5, 5});
    EXPECT_EQ(moved.of(5), is_anna_seen_more ? "Anna" : "Bert");
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0], HasSubstr(is_anna_seen_more ? "calls group 2 Bert" : "calls group 1 Anna"));
    EXPECT_EQ(moved.of(fewer), is_anna_seen_more ? "Bert" : "Anna") << "it waits where it was";
  }
}

TEST_F(FacesRules, ANameWithoutFacesMakesRoomForWhoHasItsNumberNow) {
  PersonNames moved = named("1,Anna\n2,Bert\n");
  const auto notes = moved.follow({0, 0}, {1, 1});  // nobody has Bert's faces, and Anna is number 1 now
  EXPECT_THAT(moved.all(), ElementsAre(Pair(1, "Anna")));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("is taken out, as others have that number")));
}

TEST_F(FacesRules, OfTwoWithAsManyFacesTheFirstStays) {
  PersonNames moved = named("1,Anna\n2,Bert\n");
  moved.follow({0, 1, 1, 0}, {5, 5, 5, 5});
  EXPECT_EQ(moved.of(5), "Anna");
}

}  // namespace

}  // namespace evener::job
