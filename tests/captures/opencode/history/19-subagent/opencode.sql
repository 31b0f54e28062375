CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_1ed0c886f0013ZupegT9uNNYY5','ses_e12f377c6ffefA8PICxn0sjgo3',1794978383983,1794978386788,'{"role":"user","time":{"created":1794978383983},"agent":"build","model":{"providerID":"fake","modelID":"smart-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1ed0c8c9f001wA0sAoivDZE3Vl','ses_e12f377c6ffefA8PICxn0sjgo3',1794978385055,1794978386481,'{"parentID":"msg_1ed0c886f0013ZupegT9uNNYY5","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1794978385055,"completed":1794978386481},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1ed0c8ffe001ou1YneoP7f1AzW','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978385918,1794978386537,'{"role":"user","time":{"created":1794978385918},"agent":"general","model":{"providerID":"fake","modelID":"smart-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1ed0c900a001yJ9DYLR5DMRAaL','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978385931,1794978386199,'{"parentID":"msg_1ed0c8ffe001ou1YneoP7f1AzW","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1794978385931,"completed":1794978386199},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1ed0c9119001bN1a5pvNptu79U','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978386201,1794978386411,'{"parentID":"msg_1ed0c8ffe001ou1YneoP7f1AzW","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1794978386201,"completed":1794978386410},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_1ed0c9233001mF2intkSF71e3g','ses_e12f377c6ffefA8PICxn0sjgo3',1794978386483,1794978386728,'{"parentID":"msg_1ed0c886f0013ZupegT9uNNYY5","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1794978386483,"completed":1794978386728},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_1ed0c8873001V03lV2XSH80ZJ6','msg_1ed0c886f0013ZupegT9uNNYY5','ses_e12f377c6ffefA8PICxn0sjgo3',1794978383989,1794978383990,'{"type":"text","text":"Delegate it."}');
INSERT INTO "part" VALUES('prt_1ed0c8f9c001WMwfoFp6yV8mGb','msg_1ed0c8c9f001wA0sAoivDZE3Vl','ses_e12f377c6ffefA8PICxn0sjgo3',1794978385820,1794978385822,'{"snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ed0c8f9e001bKtHaRIa1nIF8o','msg_1ed0c8c9f001wA0sAoivDZE3Vl','ses_e12f377c6ffefA8PICxn0sjgo3',1794978385823,1794978385928,'{"type":"text","text":"Delegating.","time":{"start":1794978385822,"end":1794978385927}}');
INSERT INTO "part" VALUES('prt_1ed0c8fb5001i64SkQp9gVJ6mu','msg_1ed0c8c9f001wA0sAoivDZE3Vl','ses_e12f377c6ffefA8PICxn0sjgo3',1794978385847,1794978386416,'{"type":"tool","tool":"task","callID":"call_0081_0","state":{"status":"completed","input":{"description":"Count the files","prompt":"Count the files in the project.","subagent_type":"general"},"output":"<task id=\"ses_e12f37007ffetgxVupaPJ8NXrJ\" state=\"completed\">\n<task_result>\nThere are 2 files.\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_e12f377c6ffefA8PICxn0sjgo3","sessionId":"ses_e12f37007ffetgxVupaPJ8NXrJ","model":{"modelID":"smart-1","providerID":"fake"},"truncated":false},"title":"Count the files","time":{"start":1794978385915,"end":1794978386416}}}');
INSERT INTO "part" VALUES('prt_1ed0c90000010FWJ13cueNkljL','msg_1ed0c8ffe001ou1YneoP7f1AzW','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978385921,1794978385921,'{"type":"text","text":"Count the files in the project."}');
INSERT INTO "part" VALUES('prt_1ed0c903a001D8Sl7kMaIGy1S1','msg_1ed0c900a001yJ9DYLR5DMRAaL','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978385978,1794978385979,'{"snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ed0c903b001d0nhz5n3kHk8h1','msg_1ed0c900a001yJ9DYLR5DMRAaL','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978385980,1794978386124,'{"type":"tool","tool":"bash","callID":"call_0082_0","state":{"status":"completed","input":{"command":"ls | wc -l","description":"Counts files"},"output":"2\n","metadata":{"output":"2\n","exit":0,"truncated":false},"title":"ls | wc -l","time":{"start":1794978386040,"end":1794978386124}}}');
INSERT INTO "part" VALUES('prt_1ed0c90fa001WqwYZCt78yPcfh','msg_1ed0c900a001yJ9DYLR5DMRAaL','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978386170,1794978386171,'{"reason":"tool-calls","snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
INSERT INTO "part" VALUES('prt_1ed0c9143001CWzNn6GIVs4Ajj','msg_1ed0c9119001bN1a5pvNptu79U','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978386243,1794978386244,'{"snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ed0c9145001a4dx02YW3qLIfK','msg_1ed0c9119001bN1a5pvNptu79U','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978386245,1794978386366,'{"type":"text","text":"There are 2 files.","time":{"start":1794978386245,"end":1794978386365}}');
INSERT INTO "part" VALUES('prt_1ed0c91d5001sjzJWe6MJ14CP1','msg_1ed0c9119001bN1a5pvNptu79U','ses_e12f37007ffetgxVupaPJ8NXrJ',1794978386389,1794978386390,'{"reason":"stop","snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
INSERT INTO "part" VALUES('prt_1ed0c9212001mZHfzF9rT36qly','msg_1ed0c8c9f001wA0sAoivDZE3Vl','ses_e12f377c6ffefA8PICxn0sjgo3',1794978386450,1794978386451,'{"reason":"tool-calls","snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
INSERT INTO "part" VALUES('prt_1ed0c926400125Ki7grb1Zh6jN','msg_1ed0c9233001mF2intkSF71e3g','ses_e12f377c6ffefA8PICxn0sjgo3',1794978386532,1794978386533,'{"snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ed0c9267001y56NXOMSnEck7k','msg_1ed0c9233001mF2intkSF71e3g','ses_e12f377c6ffefA8PICxn0sjgo3',1794978386535,1794978386673,'{"type":"text","text":"The subagent says: 2 files.","time":{"start":1794978386535,"end":1794978386672}}');
INSERT INTO "part" VALUES('prt_1ed0c9306001F2kwlgSuaQOF16','msg_1ed0c9233001mF2intkSF71e3g','ses_e12f377c6ffefA8PICxn0sjgo3',1794978386694,1794978386695,'{"reason":"stop","snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_e12f377c6ffefA8PICxn0sjgo3','ae972667ce112f3608ab8ea27fc0567a2de7ecce',NULL,NULL,'mighty-orchid','/workspace/demo','','Demo session title','1.18.33',NULL,0,0,0,NULL,NULL,0.00315,400,90,0,2000,0,NULL,NULL,'build','{"id":"smart-1","providerID":"fake","variant":"default"}',1794978383929,1794978386732,NULL,NULL);
INSERT INTO "session" VALUES('ses_e12f37007ffetgxVupaPJ8NXrJ','ae972667ce112f3608ab8ea27fc0567a2de7ecce',NULL,'ses_e12f377c6ffefA8PICxn0sjgo3','proud-wolf','/workspace/demo','','Count the files (@general subagent)','1.18.33',NULL,0,0,0,NULL,NULL,0.00315,400,90,0,2000,0,NULL,'[{"permission":"task","pattern":"*","action":"deny"}]','general','{"id":"smart-1","providerID":"fake","variant":"default"}',1794978385912,1794978386417,NULL,NULL);
