#include "deck.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error.hpp"

namespace plait::lbm {
namespace {

const std::string kGood = R"([lattice]
size = [16, 16, 16]
[fluid]
viscosity = 0.1
[run]
steps = 10
)";

std::string complaint(const std::string& text, const std::vector<std::string>& settings = {}) {
  try {
    (void)parse_deck(text, "some.toml", settings);
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

TEST(Deck, GoodOneIsRead) {
  const Deck d = parse_deck(kGood, "decks/some.toml");
  EXPECT_EQ(d.name, "some");
  EXPECT_EQ(d.size, (Int3{16, 16, 16}));
  EXPECT_EQ(d.steps, 10);
  EXPECT_TRUE(d.periodic(0) && d.periodic(1) && d.periodic(2));
}

TEST(Deck, ReynoldsNumberGivesTheViscosity) {
  const Deck d = parse_deck("lattice.size=[8,8,8]\nrun.steps=1\nfluid={reynolds=100,velocity=0.1,length=50}", "a.toml");
  EXPECT_DOUBLE_EQ(d.viscosity, 0.05);
}

TEST(Deck, SettingsReplaceValues) {
  const Deck d = parse_deck(kGood + "[[geometry.packing]]\nradius=4.0\nvolume-fraction=0.3\n", "a.toml",
                            {"lattice.size=[32,32,32]", "geometry.packing.radius=5.0", "output.fields=false"});
  EXPECT_EQ(d.size, (Int3{32, 32, 32}));
  EXPECT_EQ(d.geometry.packings.at(0).radius, 5.0);
  EXPECT_EQ(d.geometry.packings.at(0).volume_fraction, 0.3);
  EXPECT_FALSE(d.fields);
}

struct Bad {
  const char* name;
  std::string text;
  const char* says;
};
void PrintTo(const Bad& b, std::ostream* out) { *out << b.name; }

class BadDeckTest : public testing::TestWithParam<Bad> {};

TEST_P(BadDeckTest, IsRefusedInOneLineThatSaysWhatIsRight) {
  const std::string line = complaint(GetParam().text);
  EXPECT_THAT(line, testing::HasSubstr(GetParam().says));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Decks, BadDeckTest,
    testing::Values(
        Bad{"UnknownKey", kGood + "stepz = 3\n", "some.toml:7: 'run.stepz' is unknown; did you mean 'steps'?"},
        Bad{"UnknownTable", kGood + "[gemoetry]\n", "'gemoetry' is unknown; did you mean 'geometry'?"},
        Bad{"MistypedTable", "[latice]\nsize=[1,1,1]\n", "'latice' is unknown; did you mean 'lattice'?"},
        Bad{"MissingTable", "[lattice]\nsize=[4,4,4]\n", "the table [fluid] is missing"},
        Bad{"MissingKey", "[lattice]\n[fluid]\nviscosity=0.1\n[run]\nsteps=1\n", "'lattice.size' is missing"},
        Bad{"MistypedKey", "[lattice]\nsise=[4,4,4]\n[fluid]\nviscosity=0.1\n[run]\nsteps=1\n", "is unknown; did you mean 'size'?"},
        Bad{"KeyLikeNoOther", kGood + "[lattice.xyzzy]\n", "'lattice.xyzzy' is unknown; there is 'size'"},
        Bad{"MistypedSteps", "lattice.size=[4,4,4]\nfluid.viscosity=0.1\nrun.stps=1\n", "'run.stps' is unknown; did you mean 'steps'?"},
        Bad{"MistypedCenter", kGood + "[geometry.sphere]\ncentre=[1,2,3]\nradius=1\n", "is unknown; did you mean 'center'?"},
        Bad{"MistypedVelocity", "lattice.size=[4,4,4]\nrun.steps=1\nfluid={reynolds=10,velocty=0.1,length=4}\n",
            "is unknown; did you mean 'velocity'?"},
        Bad{"TwoSizes", "lattice.size=[8,8]\nfluid.viscosity=1\nrun.steps=1\n", "must be three whole numbers"},
        Bad{"NotToml", "lattice = = 3", "some.toml:1:"},
        Bad{"WrongType", "lattice.size=[4,4,4]\nfluid.viscosity='high'\nrun.steps=1\n", "'fluid.viscosity' must be a number, not a text"},
        Bad{"FractionOfASite", "lattice.size=[4,4,4.5]\nfluid.viscosity=1\nrun.steps=1\n", "'lattice.size' must be three whole numbers"},
        Bad{"NoSites", "lattice.size=[4,0,4]\nfluid.viscosity=1\nrun.steps=1\n", "of at least 1"},
        Bad{"NegativeViscosity", "lattice.size=[4,4,4]\nfluid.viscosity=-1\nrun.steps=1\n", "must be above 0"},
        Bad{"ViscosityOutOfRange", "lattice.size=[4,4,4]\nfluid.viscosity=1e-9\nrun.steps=1\n", "0.0001 to 10"},
        Bad{"TwoViscosities", "lattice.size=[4,4,4]\nfluid={viscosity=0.1,reynolds=10}\nrun.steps=1\n", "give one"},
        Bad{"ReynoldsAlone", "lattice.size=[4,4,4]\nfluid.reynolds=10\nrun.steps=1\n", "needs 'fluid.velocity' and 'fluid.length'"},
        Bad{"NoSteps", "lattice.size=[4,4,4]\nfluid.viscosity=0.1\nrun.steps=0\n", "'run.steps' must be at least 1, not 0"},
        Bad{"WallOnOneSide", kGood + "[walls]\nx-low=[0,0,0]\n", "needs 'x-high' too"},
        Bad{"WallIntoTheFluid", kGood + "[walls]\nx-low=[0.1,0,0]\nx-high=[0,0,0]\n", "may only move along itself"},
        Bad{"FastWall", kGood + "[walls]\nx-low=[0,0.4,0]\nx-high=[0,0,0]\n", "slower than 0.3"},
        Bad{"DensePacking", kGood + "[[geometry.packing]]\nradius=2.0\nvolume-fraction=0.7\n", "at most 0.55"},
        Bad{"SphereWithoutRadius", kGood + "[[geometry.sphere]]\ncenter=[1,2,3]\n", "'geometry.sphere.radius' is missing"},
        Bad{"EmptyBox", kGood + "[[geometry.box]]\nlow=[1,2,3]\nhigh=[1,4,5]\n", "must be above 'low'"},
        Bad{"UnknownCheck", kGood + "[check]\nagainst='giha'\ntolerance=0.1\n", "did you mean 'ghia'?"},
        Bad{"CheckOfNothing", kGood + "[check]\ntolerance=0.1\n",
            "'check.against' is missing; there are 'duct', 'ghia', 'taylor-green', 'zick-homsy'"},
        Bad{"CheckLikeNoOther", kGood + "[check]\nagainst='xyzzy'\ntolerance=0.1\n", "'check.against' is 'xyzzy'; there are 'duct'"},
        Bad{"CheckThatDoesNotFit", kGood + "[check]\nagainst='duct'\ntolerance=0.1\n", "needs walls in y and z"},
        Bad{"MoreSitesThanCounted", "lattice.size=[16777217,1,1]\nfluid.viscosity=1\nrun.steps=1\n", "at most 16777216"},
        Bad{"StepsWithoutEnd", "lattice.size=[4,4,4]\nfluid.viscosity=0.1\nrun.steps=9223372036854775807\n",
            "'run.steps' must be at most 100000000"},
        Bad{"AlwaysSteady", kGood + "steady=1.0\n", "'run.steady' must be below 1"},
        Bad{"MoreSpheresThanSites", kGood + "[geometry.sphere-array]\ncounts=[16777216,16777216,16777216]\nradius=1.0\n",
            "two sites or more: at most 8 of the lattice's 16"},
        Bad{"PackingOfSpecks", kGood + "[geometry.packing]\nradius=1e-6\nvolume-fraction=0.3\n", "must be at least 1"},
        Bad{"PackingOfTooManySpheres",
            "lattice.size=[400,400,400]\nfluid.viscosity=1\nrun.steps=1\n[geometry.packing]\nradius=1.0\nvolume-fraction=0.3\n",
            "more than 1000000 take too long"},
        Bad{"PackingOfNoSphere", kGood + "[geometry.packing]\nradius=4.0\nvolume-fraction=0.01\n", "not one sphere"},
        Bad{"FastVorticesInALongBox", "lattice.size=[1000,10,1]\nfluid.viscosity=0.01\nrun.steps=1\ninitial.taylor-green=0.3\n",
            "gives speeds up to 3 on a lattice of 1000 by 10: must be at most 0.03 there"}),
    [](const auto& info) { return info.param.name; });

// ---- a check that says nothing of the flow is refused, and not failed

struct Checked {
  const char* name;
  std::string deck;
  const char* says;
};
void PrintTo(const Checked& c, std::ostream* out) { *out << c.name; }

const std::string kVortices =
    "lattice.size=[16,16,1]\nfluid={viscosity=0.1}\nrun.steps=1\ninitial.taylor-green=0.01\n"
    "check={against='taylor-green',tolerance=0.1}\n";
const std::string kDuct =
    "lattice.size=[4,16,16]\nfluid={viscosity=0.1,force=[1e-6,0,0]}\nrun.steps=1\ncheck={against='duct',tolerance=0.1}\n"
    "walls={y-low=[0,0,0],y-high=[0,0,0],z-low=[0,0,0],z-high=[0,0,0]}\n";
const std::string kSpheres =
    "lattice.size=[32,32,32]\nfluid={viscosity=0.1,force=[1e-6,0,0]}\nrun.steps=1\n"
    "check={against='zick-homsy',tolerance=0.1}\ngeometry.sphere-array={volume-fraction=0.125}\n";
const std::string kCavity =
    "lattice.size=[32,32,1]\nfluid={reynolds=100,velocity=0.1,length=32}\nrun.steps=1\n"
    "check={against='ghia',tolerance=0.1}\nwalls={x-low=[0,0,0],x-high=[0,0,0],y-low=[0,0,0],y-high=[0.1,0,0]}\n";

class CheckedDeckTest : public testing::TestWithParam<Checked> {};

TEST_P(CheckedDeckTest, IsRefusedWhereTheCheckDoesNotApply) {
  const std::string& text = GetParam().deck;
  const auto cut = text.find('|');  // the deck, then one setting
  EXPECT_EQ(complaint(text.substr(0, cut)), "nothing");
  const std::string line = complaint(text.substr(0, cut), {text.substr(cut + 1)});
  EXPECT_THAT(line, testing::AllOf(testing::HasSubstr("'check.against'"), testing::HasSubstr(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    Decks, CheckedDeckTest,
    testing::Values(Checked{"VorticesWithAForce", kVortices + "|fluid.force=[1e-6,0,0]", "without 'fluid.force'"},
                    Checked{"VorticesAmongWalls", kVortices + "|walls={z-low=[0,0,0],z-high=[0,0,0]}", "periodic sides"},
                    Checked{"VorticesAroundASphere", kVortices + "|geometry.sphere={center=[8,8,0],radius=2.0}", "no geometry"},
                    Checked{"VorticesOfTwoSites", kVortices + "|lattice.size=[2,2,1]", "at least 4 sites"},
                    Checked{"DuctWithAMovingWall", kDuct + "|walls.y-low=[0.1,0,0]", "walls at rest"},
                    Checked{"DuctWithAForceAcross", kDuct + "|fluid.force=[1e-6,1e-6,0]", "along x alone"},
                    Checked{"DuctWithASphere", kDuct + "|geometry.sphere={center=[2,8,8],radius=2.0}", "no geometry"},
                    Checked{"SpheresInLongCells", kSpheres + "|lattice.size=[40,32,32]", "needs cubic cells"},
                    Checked{"SpheresBesideAnother", kSpheres + "|geometry.sphere={center=[0,0,0],radius=2.0}", "no other geometry"},
                    Checked{"SpheresOfAnotherFraction", kSpheres + "|geometry.sphere-array.volume-fraction=0.3",
                            "of its table (0.027, 0.064"},
                    Checked{"SpheresWithAForceAcross", kSpheres + "|fluid.force=[1e-6,1e-6,0]", "along x alone"},
                    Checked{"CavityWhoseLidRests", kCavity + "|walls.y-high=[0,0,0]", "moving towards higher x"},
                    Checked{"CavityWhoseLidGoesBack", kCavity + "|walls.y-high=[-0.1,0,0]", "moving towards higher x"},
                    Checked{"CavityWithTwoLids", kCavity + "|walls.y-low=[0.1,0,0]", "the other walls at rest"},
                    Checked{"CavityWithAForce", kCavity + "|fluid.force=[1e-6,0,0]", "without force"},
                    Checked{"CavityOfAnotherReynoldsNumber", kCavity + "|fluid.length=1.0", "its Reynolds number is 3200"},
                    Checked{"CavityOfAnotherSpeed", kCavity + "|walls.y-high=[0.2,0,0]", "its Reynolds number is 200"}),
    [](const auto& info) { return info.param.name; });

TEST(Deck, BadSettingIsNamed) {
  EXPECT_THAT(complaint(kGood, {"lattice.size"}), testing::HasSubstr("must be key=value"));
  EXPECT_THAT(complaint(kGood, {"lattice.sise=[1,1,1]"}), testing::HasSubstr("did you mean 'size'?"));
}

}  // namespace
}  // namespace plait::lbm
