CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_1ed08faa40010NVoXRQdawBAoN','ses_e12f70579ffeE1XWVd6dQVU7Jw',1794978151076,1794978152497,'{"role":"user","time":{"created":1794978151076},"agent":"build","model":{"providerID":"fake","modelID":"smart-1"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_1ed08fcd0001dhfwDHZe2e3p2n','ses_e12f70579ffeE1XWVd6dQVU7Jw',1794978151632,1794978152475,'{"parentID":"msg_1ed08faa40010NVoXRQdawBAoN","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1794978151632,"completed":1794978152475},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_1ed08faa8001hd0vafqMMiB6fM','msg_1ed08faa40010NVoXRQdawBAoN','ses_e12f70579ffeE1XWVd6dQVU7Jw',1794978151082,1794978151083,'{"type":"text","text":"Say hello."}');
INSERT INTO "part" VALUES('prt_1ed08ff05001TKCgSR5qHH8uMZ','msg_1ed08fcd0001dhfwDHZe2e3p2n','ses_e12f70579ffeE1XWVd6dQVU7Jw',1794978152197,1794978152198,'{"snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ed08ff070013v9YNnG9sSvAqA','msg_1ed08fcd0001dhfwDHZe2e3p2n','ses_e12f70579ffeE1XWVd6dQVU7Jw',1794978152199,1794978152438,'{"type":"text","text":"Hello from the scripted model. Goodbye.","time":{"start":1794978152199,"end":1794978152437}}');
INSERT INTO "part" VALUES('prt_1ed090007001yTuG43M5OZVJPw','msg_1ed08fcd0001dhfwDHZe2e3p2n','ses_e12f70579ffeE1XWVd6dQVU7Jw',1794978152455,1794978152456,'{"reason":"stop","snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
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
INSERT INTO "session" VALUES('ses_e12f70579ffeE1XWVd6dQVU7Jw','ae972667ce112f3608ab8ea27fc0567a2de7ecce',NULL,NULL,'quick-falcon','/workspace/demo','','Demo session title','1.18.33',NULL,0,0,0,NULL,NULL,0.001575,200,45,0,1000,0,NULL,NULL,'build','{"id":"smart-1","providerID":"fake","variant":"default"}',1794978151046,1794978152479,NULL,NULL);
